// What a whole row that the detector cuts says of the outline beyond its edges
// (Truncation::kCylinder in operations.h).
#pragma once

namespace isocenter::ops {

/// Where bone runs along an edge, the edge's value and slope say nothing of where the skin is. The
/// rest of the row does, if it is one cylinder's: through its y, but for RowFitMargin pixels at
/// both ends, goes the least-squares parabola A + b k - c k² (k outwards from the edge; A and c at
/// least 0), which is 0 at the k = r, at least 1 and at most L. So the row's a is c, and its s is
/// c r - y₀/r, at most 0.
///
/// The share of it is g = max(0, 1 - (f / kRowFitMissed)²)², that of the edge's fit 1 - g, with f
/// the root mean square of what the parabola leaves of y, relative to the mean y. 0 where that mean
/// is not positive, or where fewer than kLeastRowFitPixels are fitted: through few a parabola
/// always goes.
constexpr int RowFitMargin(int columns) { return columns / 16; }
/// Skulls leave up to 0.05 of the mean, abdomens 0.03 to 0.13, chests and thighs 0.1 and more.
inline constexpr double kRowFitMissed = 0.08;
inline constexpr int kLeastRowFitPixels = 16;

}  // namespace isocenter::ops
