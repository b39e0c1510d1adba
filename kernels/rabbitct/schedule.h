// When images go to a device and are back-projected there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/registry.h"
#include "kernels/rabbitct/image_buffers.h"

namespace isocenter::rabbitct {

/// Views of a launch of the CUDA kernels.
inline constexpr int kLaunchViews = 32;

/// Projections that are back-projected together.
struct Batch {
  std::unique_ptr<ops::ProjectionStack> stack;
  std::vector<ProjectionMatrix> matrices;
};

/// What a benchmark has on its device. `session` and `backproject` outlive the schedule.
struct Bench {
  ops::Session* session;
  ops::Backproject* backproject;
  VolumeGrid grid;
  Shape3 image;        // 1 x rows x columns
  int images_at_once;  // between two pauses of the runner

  absl::StatusOr<Batch> NewBatch(int views) const;
  /// Adds the batch's views to a volume.
  absl::Status Add(const Batch& batch, ops::VolumeBuffer& volume) const;
};

/// Not thread-safe. Errors: those of the device.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// `weight` times the image is the projection. The image may be one of buffers(), else it is the
  /// caller's again after the call. When the last of `images_at_once` returns the device is idle.
  virtual absl::Status Add(const ProjectionMatrix& matrix, std::span<const float> image,
                           float weight) = 0;
  /// Back-projects what is left, and waits.
  virtual absl::Status Flush() = 0;
  /// After Flush.
  virtual absl::Status Download(HostView3<float> volume) = 0;

  /// What images need not be copied from; null: none.
  virtual ImageBuffers* buffers() { return nullptr; }
  /// Where the volume is in host memory already after Flush; null: nowhere.
  virtual float* volume() { return nullptr; }
  /// Whether the device may be at work though no call is.
  virtual bool busy() const { return false; }
  /// For people, of what is out of the ordinary.
  virtual std::string text() const { return ""; }
};

/// The call that completes a batch waits for its work.
absl::StatusOr<std::unique_ptr<Schedule>> NewWaitingSchedule(const Bench& bench);

/// Images of one batch go to the device while the one before is back-projected: 8, 16, 24 and then
/// 32 of them, since the device has nothing to do until the first batch is there (Zinsser & Keck,
/// Fully3D 2013, figure 3).
absl::StatusOr<std::unique_ptr<Schedule>> NewOverlappedSchedule(const Bench& bench);
/// Device memory of it; `workspace` is that of the back-projection of a launch into a grid.
int64_t OverlappedBytes(const Bench& bench, int64_t workspace);

/// For volumes beyond the device's memory (ibid., section V): images stay on the device, up to
/// those of two pauses, which are half of the benchmark's; then the volume goes through it in
/// parts, between two rooms. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<Schedule>> NewStreamedSchedule(
    const Bench& bench, const ops::BackprojectFactory& factory);

}  // namespace isocenter::rabbitct
