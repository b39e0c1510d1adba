// A detector that stands beside the middle of the fan: each view sees one side of the object whole
// and of the other a part; on a full turn the view from opposite brings what is missing.
#pragma once

#include <span>

namespace isocenter {

/// Fan angles of one view's first and last columns: radians from the ray through the axis.
struct FanEdges {
  double first = 0, second = 0;
  double before_last = 0, last = 0;
};

/// How far the fan reaches to both sides of the ray through the axis, in every view. Radians;
/// negative where some view does not see the axis.
struct FanSides {
  double narrow = 0;
  double wide = 0;
  /// Sign of the fan angles of the wide side.
  int wide_sign = 1;
  /// The view in which the narrow side is narrowest.
  int narrowest_view = 0;
  /// Of one column at the narrow edge.
  double column = 0;
};

/// Of at least one view.
FanSides MeasureFanSides(std::span<const FanEdges> views);

/// Whether the sides differ by more than a column.
bool IsDisplaced(const FanSides& sides);

/// Columns that the narrow side lacks to be as wide as the other one.
double MissingColumns(const FanSides& sides);

/// What a ray counts on a full turn, relative to one of a centred fan; the weights of conjugate
/// rays add up to 2. A ray that only the wide side has counts twice, one beyond the narrow side
/// nothing, and between them the weight changes with a continuous slope, over as many degrees as
/// the sides differ, so that a detector that is hardly displaced keeps the noise of a centred one.
/// After Wang, Med. Phys. 29 (2002) 1634, whose transition always takes all that is seen twice. 1
/// everywhere unless IsDisplaced.
double DisplacedWeight(double fan, const FanSides& sides);

}  // namespace isocenter
