// What part of the arc a view stands for when the object turns, too.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::recon {

/// A head that turns with the arm is seen from angles that lie closer together, and each of its
/// views counts less; one that turns against it, more. With the steps of the arm alone, planted
/// motions of 4 mm and 3° leave half as much again of the error (docs/motion.md).
class AngularSteps {
 public:
  /// A share that is less, or of a source that turns back, is this: every view keeps some weight.
  static constexpr double kLeastShare = 0.1;

  /// Errors: INVALID_ARGUMENT (fewer than 2 views; those of OrbitAxis and SourceAngles; a rotation
  /// that stops).
  static absl::StatusOr<AngularSteps> Create(const Trajectory& trajectory);

  /// `of_frames` [view][6], the parameters of poses (matrix_model.h). A view's share is half of the
  /// angle from the source before to the source after it, as the object sees them, over that at
  /// rest, to first order of the motion.
  void Evaluate(std::span<const double> of_frames, std::span<double> shares) const;
  /// The adjoint at these shares, added to `by_frame` [view][6].
  void Gather(std::span<const double> shares, std::span<const double> by_share,
              std::span<double> by_frame) const;

 private:
  struct View {
    std::array<double, 6> angle_by{};  // radians for each mm of the parameters
    int before = 0, after = 0;
    double rest = 0;  // radians from before to after
  };
  std::vector<View> views_;
};

}  // namespace isocenter::recon
