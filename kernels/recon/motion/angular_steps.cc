#include "kernels/recon/motion/angular_steps.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {

absl::StatusOr<AngularSteps> AngularSteps::Create(const Trajectory& trajectory) {
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(trajectory));
  ISO_ASSIGN_OR_RETURN(const std::vector<double> angles,
                       SourceAngles(TurnedToAxis(trajectory, axis)));
  const int count = static_cast<int>(trajectory.size());
  AngularSteps steps;
  for (int view = 0; view < count; ++view) {
    View made{.before = std::max(0, view - 1), .after = std::min(count - 1, view + 1)};
    made.rest = angles[made.after] - angles[made.before];
    if (made.rest == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("trajectory, view ", view,
                       ": the sources before and after it have the same angle; legal is a "
                       "monotonic rotation"));
    }
    // From the object at rest the source s of a pose (t, θ) is at s - θ × s - t, and its angle
    // around the axis changes by that along the orbit over the distance from the axis.
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(trajectory[view]));
    const Vec3 across = Cross(axis, camera.source);
    const double distance = Norm(across);
    const Vec3 along = (1 / distance) * across;
    const Vec3 by_shift = (-1 / distance) * along;
    const Vec3 by_turn = (-1 / distance / kLeverMm) * Cross(camera.source, along);
    made.angle_by = {by_shift.x, by_shift.y, by_shift.z, by_turn.x, by_turn.y, by_turn.z};
    steps.views_.push_back(made);
  }
  return steps;
}

void AngularSteps::Evaluate(std::span<const double> of_frames, std::span<double> shares) const {
  const auto change = [&](int view) {
    double sum = 0;
    for (size_t p = 0; p < 6; ++p) sum += views_[view].angle_by[p] * of_frames[6 * view + p];
    return sum;
  };
  for (size_t i = 0; i < views_.size(); ++i) {
    const View& view = views_[i];
    shares[i] = std::max(kLeastShare, 1 + (change(view.after) - change(view.before)) / view.rest);
  }
}

void AngularSteps::Gather(std::span<const double> shares, std::span<const double> by_share,
                          std::span<double> by_frame) const {
  for (size_t i = 0; i < views_.size(); ++i) {
    if (shares[i] <= kLeastShare) continue;
    const View& view = views_[i];
    const double slope = by_share[i] / view.rest;
    for (size_t p = 0; p < 6; ++p) {
      by_frame[6 * view.after + p] += slope * views_[view.after].angle_by[p];
      by_frame[6 * view.before + p] -= slope * views_[view.before].angle_by[p];
    }
  }
}

}  // namespace isocenter::recon
