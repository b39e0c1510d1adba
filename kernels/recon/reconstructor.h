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
#include "kernels/recon/preview.h"
#include "kernels/recon/trace.h"

namespace isocenter::recon {

struct ReconstructorOptions {
  /// Somebody waits for it: before other work of the devices (ops::SessionOptions).
  bool urgent = false;
  /// Makes the planes of TakePreview. The volume is the same, to the last bit.
  bool preview = false;
};

/// FDK reconstruction of one acquisition. Not thread-safe; one thread drives it, AwaitFinish
/// excepted. Several reconstructors may share devices. Source: Feldkamp, Davis, Kress, JOSA A 1
/// (1984) 612, for general 3x4 matrices.
class Reconstructor {
 public:
  /// `devices` are those that the plan was made for; they and `plan` must outlive the
  /// reconstructor. Errors: RESOURCE_EXHAUSTED, NOT_FOUND (method).
  static absl::StatusOr<std::unique_ptr<Reconstructor>> Create(
      const ReconstructionPlan& plan, const ops::Registry& registry,
      std::span<ops::Device* const> devices, const ReconstructorOptions& options = {});
  static absl::StatusOr<std::unique_ptr<Reconstructor>> Create(
      const ReconstructionPlan& plan, const ops::Registry& registry, ops::Device& device,
      const ReconstructorOptions& options = {}) {
    ops::Device* const one[] = {&device};
    return Create(plan, registry, one, options);
  }
  /// Waits for what has been started.
  ~Reconstructor();

  /// Index of the chunk that Push expects next; plan.chunks.size() when all are done.
  int next_chunk() const { return next_chunk_; }

  /// Filters and back-projects the frames of plan.chunks[next_chunk()], which are the caller's
  /// again on return; a device may still be at work on them. `measured` is empty or holds one
  /// matrix per frame that replaces the planned ones (normalised). `doses` is empty or holds one
  /// for each frame, relative to that of the calibration, or 0 where it was not told; without a
  /// calibration they are ignored. Errors: INVALID_ARGUMENT (shape, pixel type, doses),
  /// FAILED_PRECONDITION (all done).
  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured = {},
                    std::span<const float> doses = {});

  /// What the planes show after the chunks that have been pushed so far, in HU; waits for the
  /// devices. The order is axial, coronal, sagittal. Errors: FAILED_PRECONDITION (no preview was
  /// asked for).
  absl::StatusOr<std::vector<PreviewPlane>> TakePreview() const;

  /// After the last chunk: does the next part of what is left, a chunk's worth at most, so that
  /// other work of the devices may go in between: one chunk for the slabs that have their turn, or
  /// their conversion to HU and the start of their download. True when all has been started; then
  /// AwaitFinish is next. `volume` is [z][y][x] in HU, the same in every step; copies run beside
  /// the computation where it is memory of Device::NewHostMemory. `arrived` tells which slices of
  /// it are there: each of them once, in pieces and in any order, from any thread but one at a
  /// time, some before the call returns. It must be quick, wait for nothing, and not call the
  /// reconstructor. Errors: FAILED_PRECONDITION (chunks missing), INVALID_ARGUMENT (shape). After
  /// any other error the reconstructor is good for nothing but its destruction.
  absl::StatusOr<bool> FinishStep(HostView3<float> volume, const SlicesArrived& arrived);

  /// Returns when the volume is complete. Afterwards another acquisition of the same plan may be
  /// pushed. May be called from another thread than the rest, not at the same time. Whatever it
  /// returns, `arrived` is not called after it, nor after the reconstructor's destruction. Errors:
  /// FAILED_PRECONDITION (steps are missing), a device's.
  absl::Status AwaitFinish();

  /// All steps of FinishStep, then AwaitFinish.
  absl::Status Finish(HostView3<float> volume);

  /// Push for all chunks of an acquisition, then Finish. The frames stay where they are. `doses`:
  /// empty, or one for each. `progress`, if there is one, is told after each chunk what share of
  /// the work has been started; its error ends the run, and the reconstructor is good for nothing
  /// but its destruction.
  absl::Status Run(const ops::RawFrames& frames, HostView3<float> volume,
                   std::span<const float> doses = {},
                   const std::function<absl::Status(double done)>& progress = nullptr);

  /// What the devices did since the last call, on one clock; waits for them.
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace();

 private:
  struct KeptChunk {
    ops::RawFrames frames;
    std::vector<ProjectionMatrix> measured;
    std::vector<float> doses;
  };
  /// What belongs to the frames of a chunk; each empty or one for each.
  struct FrameFacts {
    std::span<const ProjectionMatrix> measured;
    std::span<const float> doses;
  };

  class Arrivals;

  explicit Reconstructor(const ReconstructionPlan& plan);
  absl::Status CheckChunk(const ops::RawFrames& frames, const FrameFacts& facts) const;
  /// `stay`: the frames stay in host memory until AwaitFinish.
  absl::Status PushChunk(const ops::RawFrames& frames, const FrameFacts& facts, bool stay);
  absl::Status AddToWorkers(int chunk, const ops::RawFrames& frames, const FrameFacts& facts);
  absl::StatusOr<ops::RawFrames> CopyOf(const ops::RawFrames& frames);
  absl::Status RequireAllChunks() const;
  /// All workers are done.
  bool Done() const;
  /// Adds a chunk that has been pushed before to the slabs that are worked on now.
  absl::Status AddAgain(int chunk);

  /// Calls work(worker) for each that is not done, side by side; the first error.
  absl::Status OnWorkers(const std::function<absl::Status(DeviceWorker&)>& work);

  const ReconstructionPlan& plan_;
  /// Where slabs need the frames again. Before the workers, whose end waits for copies.
  std::vector<KeptChunk> kept_;
  std::unique_ptr<ops::HostMemory> kept_frames_;
  std::vector<std::unique_ptr<DeviceWorker>> workers_;  // the first one makes the preview
  bool preview_ = false;
  /// A thread for each worker: one waits for its uploads while the others go on.
  std::unique_ptr<ThreadPool> threads_;
  int next_chunk_ = 0;
  /// Chunks that were added again in the present round of slabs; none in the first.
  int added_again_ = 0;
  bool first_round_ = true;
  /// Shared with copies that are under way.
  std::shared_ptr<Arrivals> arrivals_;
};

/// The whole of an acquisition at once: frames [view][v][u] in host memory to HU [z][y][x].
absl::StatusOr<StageSeconds> ReconstructAll(const ReconstructionPlan& plan,
                                            const ops::Registry& registry, ops::Device& device,
                                            const ops::RawFrames& frames, HostView3<float> volume);

}  // namespace isocenter::recon
