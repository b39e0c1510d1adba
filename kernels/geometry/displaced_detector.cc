#include "kernels/geometry/displaced_detector.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/units.h"

namespace isocenter {

FanSides MeasureFanSides(std::span<const FanEdges> views) {
  struct Side {
    double reach = std::numeric_limits<double>::infinity();
    double column = 0;
    int view = 0;
  };
  Side positive, negative;
  const auto note = [](Side& side, double reach, double column, int view) {
    if (reach < side.reach) side = {reach, column, view};
  };
  for (int view = 0; view < static_cast<int>(views.size()); ++view) {
    const FanEdges& edges = views[view];
    const bool rising = edges.last > edges.first;
    const double at_first = std::abs(edges.second - edges.first);
    const double at_last = std::abs(edges.last - edges.before_last);
    note(positive, std::max(edges.first, edges.last), rising ? at_last : at_first, view);
    note(negative, -std::min(edges.first, edges.last), rising ? at_first : at_last, view);
  }
  const bool positive_is_wide = positive.reach >= negative.reach;
  const Side& wide = positive_is_wide ? positive : negative;
  const Side& narrow = positive_is_wide ? negative : positive;
  return {.narrow = narrow.reach,
          .wide = wide.reach,
          .wide_sign = positive_is_wide ? 1 : -1,
          .narrowest_view = narrow.view,
          .column = narrow.column};
}

bool IsDisplaced(const FanSides& sides) { return sides.wide - sides.narrow > sides.column; }

double MissingColumns(const FanSides& sides) {
  return sides.column > 0 ? (sides.wide - sides.narrow) / sides.column : 0;
}

double DisplacedWeight(double fan, const FanSides& sides) {
  if (!IsDisplaced(sides)) return 1;
  const double x = sides.wide_sign * fan;
  const double transition = std::min(sides.narrow, sides.wide - sides.narrow);
  const double into = std::abs(x) - (sides.narrow - transition);
  if (into <= 0) return 1;
  const double change = into >= transition ? 1 : std::sin(0.5 * kPi * into / transition);
  return 1 + std::copysign(change * change, x);
}

}  // namespace isocenter
