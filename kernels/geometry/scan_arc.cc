#include "kernels/geometry/scan_arc.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter {

absl::StatusOr<Arc> MeasureArc(const Trajectory& trajectory) {
  const int views = static_cast<int>(trajectory.size());
  if (views < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trajectory has ", views, " views; legal is 2 or more"));
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<double> angle, SourceAngles(trajectory));
  const double swept = angle.back() - angle.front();
  Arc arc;
  arc.direction = swept < 0 ? -1 : 1;
  arc.mean_step = std::abs(swept) / (views - 1);
  arc.length = std::abs(swept) + arc.mean_step;
  for (int view = 0; view < views; ++view) {
    arc.beta.push_back(arc.direction * (angle[view] - angle[0]) + 0.5 * arc.mean_step);
    if (view > 0 && !(arc.beta[view] > arc.beta[view - 1])) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "trajectory, view %d: the source's angle goes from %.4f to %.4f deg against the "
          "direction of the arc (%+.4f deg in all); legal is a monotonic rotation",
          view, RadiansToDegrees(angle[view - 1]), RadiansToDegrees(angle[view]),
          RadiansToDegrees(swept)));
    }
  }
  // Each view stands for the arc up to the middle between it and its neighbours.
  for (int view = 0; view < views; ++view) {
    const double begin = view == 0 ? 0 : 0.5 * (arc.beta[view - 1] + arc.beta[view]);
    const double end = view == views - 1 ? arc.length : 0.5 * (arc.beta[view] + arc.beta[view + 1]);
    arc.step.push_back(end - begin);
  }
  return arc;
}

bool IsClosed(const Arc& arc) { return std::abs(arc.length - 2 * kPi) <= 0.5 * arc.mean_step; }

bool GoesAround(const Arc& arc) { return IsClosed(arc) || arc.length > 2 * kPi; }

void Close(Arc& arc) {
  const double gap = 2 * kPi - (arc.length - arc.mean_step);
  for (double& beta : arc.beta) beta += 0.5 * (gap - arc.mean_step);
  arc.step.front() += 0.5 * (gap - arc.mean_step);
  arc.step.back() += 0.5 * (gap - arc.mean_step);
  arc.length = 2 * kPi;
}

}  // namespace isocenter
