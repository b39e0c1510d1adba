// What a pixel should be like, by those around it.
#pragma once

#include <span>
#include <vector>

#include "kernels/geometry/detector.h"

namespace isocenter::calibrate {

/// Side of the tiles of pixels whose medians are compared (pixels).
inline constexpr int kMedianTile = 32;

/// A smooth map of what is usual around each pixel: medians of tiles, of which each becomes the
/// median of itself and its neighbours, so that a defect that fills a whole tile does not count;
/// linear between the tiles' centers, constant beyond the outermost. `map` is [v][u], finite.
std::vector<float> LocalMedian(std::span<const float> map, const Detector& detector);

}  // namespace isocenter::calibrate
