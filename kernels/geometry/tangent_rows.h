// Rows of arc detectors, resampled so that no arctangent is needed where they are read.
#pragma once

#include <vector>

#include "kernels/geometry/fan_beam.h"

namespace isocenter {

/// Elements at equal steps of tan γ = x'/(D - y'), over the channels and one beyond on either side,
/// where there is nothing. Where a pixel is seen is then a product and a sum, as on a flat
/// detector; its weight stays that of the arc. Rows are linear between channels, and have bends
/// there that elements do not hit: what is linear between elements departs from them by up to the
/// change of slope times a quarter of the distance of elements.
struct TangentRows {
  double first = 0, step = 0;     // tan γ of element 0, and from one to the next
  std::vector<double> positions;  // of elements, in channels

  int count() const { return static_cast<int>(positions.size()); }
};

/// With `per_channel` elements for each channel in the middle and more outside. `geometry` has an
/// arc.
TangentRows MakeTangentRows(const FanBeamGeometry& geometry, int per_channel);

/// Elements at most, of any geometry with so many channels: fan angles end at 60 degrees.
int64_t MostTangentElements(int64_t channels, int per_channel);

}  // namespace isocenter
