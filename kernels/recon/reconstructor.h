// Executes a plan on one device, chunk by chunk as frames arrive.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/plan.h"

namespace isocenter::recon {

/// Seconds that each stage was at work so far.
struct StageSeconds {
  double preprocess = 0;
  double filter = 0;
  double backproject = 0;
  double hounsfield = 0;
  double compute() const { return preprocess + filter + backproject + hounsfield; }
};

/// FDK reconstruction of one acquisition. Not thread-safe; one thread drives it. Several
/// reconstructors may share a device. Source: Feldkamp, Davis, Kress, JOSA A 1 (1984) 612, for
/// general 3x4 matrices.
class Reconstructor {
 public:
  /// `plan` and `device` must outlive the reconstructor. Errors: RESOURCE_EXHAUSTED, NOT_FOUND
  /// (method).
  static absl::StatusOr<std::unique_ptr<Reconstructor>> Create(const ReconstructionPlan& plan,
                                                               const ops::Registry& registry,
                                                               ops::Device& device);

  /// Index of the chunk that Push expects next; plan.chunks.size() when all are done.
  int next_chunk() const { return next_chunk_; }

  /// Filters and back-projects the frames of plan.chunks[next_chunk()]. `measured` is empty or
  /// holds one matrix per frame that replaces the planned ones (normalised). Errors:
  /// INVALID_ARGUMENT (shape, pixel type), FAILED_PRECONDITION (all done).
  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured = {});

  /// After the last chunk: converts to Hounsfield units. Errors: FAILED_PRECONDITION (chunks
  /// missing, called twice).
  absl::Status Finish();

  /// After Finish: copies slices [z][y][x], HU, from `first_slice`. Errors: FAILED_PRECONDITION,
  /// INVALID_ARGUMENT.
  absl::Status ReadSlices(int64_t first_slice, HostView3<float> slices) const;

  const StageSeconds& seconds() const { return seconds_; }

 private:
  explicit Reconstructor(const ReconstructionPlan& plan, ops::Device& device)
      : plan_(plan), device_(device) {}

  const ReconstructionPlan& plan_;
  ops::Device& device_;
  std::unique_ptr<ops::Preprocess> preprocess_;
  std::unique_ptr<ops::RampFilter> ramp_filter_;
  std::unique_ptr<ops::Backproject> backproject_;
  std::unique_ptr<ops::ToHounsfield> to_hounsfield_;
  std::unique_ptr<ops::ProjectionStack> line_integrals_;
  std::unique_ptr<ops::ProjectionStack> filtered_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  int next_chunk_ = 0;
  bool finished_ = false;
  StageSeconds seconds_;
};

/// The whole of an acquisition at once, by the same plan and chunks: frames [view][v][u] in host
/// memory to HU [z][y][x].
absl::StatusOr<StageSeconds> ReconstructAll(const ReconstructionPlan& plan,
                                            const ops::Registry& registry, ops::Device& device,
                                            const ops::RawFrames& frames, HostView3<float> volume);

}  // namespace isocenter::recon
