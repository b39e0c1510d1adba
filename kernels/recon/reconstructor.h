// Executes a plan on its devices, chunk by chunk as frames arrive.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/device_worker.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/trace.h"

namespace isocenter::recon {

/// FDK reconstruction of one acquisition. Not thread-safe; one thread drives it. Several
/// reconstructors may share devices. Source: Feldkamp, Davis, Kress, JOSA A 1 (1984) 612, for
/// general 3x4 matrices.
class Reconstructor {
 public:
  /// `devices` are those that the plan was made for; they and `plan` must outlive the
  /// reconstructor. Errors: RESOURCE_EXHAUSTED, NOT_FOUND (method).
  static absl::StatusOr<std::unique_ptr<Reconstructor>> Create(
      const ReconstructionPlan& plan, const ops::Registry& registry,
      std::span<ops::Device* const> devices);
  static absl::StatusOr<std::unique_ptr<Reconstructor>> Create(const ReconstructionPlan& plan,
                                                               const ops::Registry& registry,
                                                               ops::Device& device) {
    ops::Device* const one[] = {&device};
    return Create(plan, registry, one);
  }

  /// Index of the chunk that Push expects next; plan.chunks.size() when all are done.
  int next_chunk() const { return next_chunk_; }

  /// Filters and back-projects the frames of plan.chunks[next_chunk()], which are the caller's
  /// again on return; a device may still be at work on them. `measured` is empty or holds one
  /// matrix per frame that replaces the planned ones (normalised). Errors: INVALID_ARGUMENT (shape,
  /// pixel type), FAILED_PRECONDITION (all done).
  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured = {});

  /// After the last chunk: completes the volume, [z][y][x] in HU. Copies run beside the computation
  /// where `volume` is memory of Device::NewHostMemory. Afterwards another acquisition of the same
  /// plan may be pushed. Errors: FAILED_PRECONDITION (chunks missing), INVALID_ARGUMENT (shape).
  absl::Status Finish(HostView3<float> volume);

  /// Push for all chunks of an acquisition, then Finish. The frames stay where they are.
  absl::Status Run(const ops::RawFrames& frames, HostView3<float> volume);

  /// After Finish: what the devices did since the last call.
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace();

 private:
  struct KeptChunk {
    ops::RawFrames frames;
    std::vector<ProjectionMatrix> measured;
  };

  explicit Reconstructor(const ReconstructionPlan& plan) : plan_(plan) {}
  absl::Status CheckChunk(const ops::RawFrames& frames,
                          std::span<const ProjectionMatrix> measured) const;
  /// `stay`: the frames stay in host memory until Finish.
  absl::Status PushChunk(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                         bool stay);
  absl::Status AddToWorkers(int chunk, const ops::RawFrames& frames,
                            std::span<const ProjectionMatrix> measured);
  absl::StatusOr<ops::RawFrames> CopyOf(const ops::RawFrames& frames);
  absl::Status FinishRemainingSlabs(HostView3<float> volume);

  /// Calls work(worker) for each that is not done, side by side; the first error.
  absl::Status OnWorkers(const std::function<absl::Status(DeviceWorker&)>& work);

  const ReconstructionPlan& plan_;
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
  /// A thread for each worker: one waits for its uploads while the others go on.
  std::unique_ptr<ThreadPool> threads_;
  /// Where slabs need the frames again.
  std::vector<KeptChunk> kept_;
  std::unique_ptr<ops::HostMemory> kept_frames_;
  int next_chunk_ = 0;
};

/// The whole of an acquisition at once: frames [view][v][u] in host memory to HU [z][y][x].
absl::StatusOr<StageSeconds> ReconstructAll(const ReconstructionPlan& plan,
                                            const ops::Registry& registry, ops::Device& device,
                                            const ops::RawFrames& frames, HostView3<float> volume);

}  // namespace isocenter::recon
