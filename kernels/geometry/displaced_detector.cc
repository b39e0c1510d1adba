#include "kernels/geometry/displaced_detector.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/units.h"

namespace isocenter {

FanSides MeasureFanSides(const std::vector<double>& fan, int columns) {
  struct Side {
    double reach = std::numeric_limits<double>::infinity();
    double column = 0;
    int view = 0;
  };
  Side positive, negative;
  const auto note = [](Side& side, double reach, double column, int view) {
    if (reach < side.reach) side = {reach, column, view};
  };
  const int views = static_cast<int>(fan.size() / columns);
  for (int view = 0; view < views; ++view) {
    const double* row = &fan[static_cast<size_t>(view) * columns];
    const double first = row[0], last = row[columns - 1];
    const double first_column = columns > 1 ? std::abs(row[1] - first) : 0;
    const double last_column = columns > 1 ? std::abs(last - row[columns - 2]) : 0;
    const bool rising = last > first;
    note(positive, std::max(first, last), rising ? last_column : first_column, view);
    note(negative, -std::min(first, last), rising ? first_column : last_column, view);
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
