// The sharpness of a coarse volume as a function of how the object lay in each frame.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/recon/motion/angular_steps.h"
#include "kernels/recon/motion/binned_frames.h"
#include "kernels/recon/motion/focus.h"

namespace isocenter::recon {

/// Not thread-safe.
class PosedFocus {
 public:
  /// Of a volume on `grid` from frames that are binned to its voxels from the lines of
  /// `acquisition` in `finest`. Where there are poses in `as_seen`, rays are weighted as an object
  /// with these saw them (WeighAsSeen). `acquisition`, `device` and `threads` must outlive it,
  /// `finest` need not. Errors: those of MakePlan, Focus::Create, WeighAsSeen and AngularSteps.
  static absl::StatusOr<std::unique_ptr<PosedFocus>> Create(
      const Acquisition& acquisition, const BinnedLines& finest, const VolumeGrid& grid,
      const FdkSettings& fdk, std::span<const RigidPose> as_seen, const ops::Registry& registry,
      ops::Device& device, ThreadPool& threads);

  /// With the frames' parameters [view][6] (matrix_model.h); derivatives by them into `by_frame`.
  /// Errors: a device's.
  absl::StatusOr<double> Entropy(std::span<const double> of_frames, std::span<double> by_frame);

  /// What values are brought to (Focus).
  double mean() const { return focus_->mean(); }
  void SetMean(double mean) { focus_->SetMean(mean); }

 private:
  explicit PosedFocus(const Trajectory& trajectory, AngularSteps steps)
      : trajectory_(trajectory), steps_(std::move(steps)) {}

  const Trajectory& trajectory_;
  const AngularSteps steps_;
  ReconstructionPlan plan_;
  std::unique_ptr<Focus> focus_;
};

}  // namespace isocenter::recon
