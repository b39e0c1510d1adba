// What no C-arm is: matrices in another unit than millimetres.
#pragma once

#include "absl/status/status.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::wire {

/// Arms have some 750 mm from source to isocentre and magnify there 1.6 times. Bounds that are far
/// beyond either still tell matrices in centimetres and metres, whose volumes have voxels of
/// another size and values of another scale, and look like any other.
inline constexpr double kLeastSourceToIsocenterMm = 100, kMostSourceToIsocenterMm = 10000;
inline constexpr double kLeastMagnification = 1, kMostMagnification = 10;

/// Of a matrix that somebody listed, for millimetres and the pixels of `detector`. Errors:
/// INVALID_ARGUMENT with the distance or the magnification at the isocentre (the source's distance
/// from the detector over that from the isocentre, along the detector's normal) and what is legal;
/// those of Decompose.
absl::Status CheckArmBounds(const ProjectionMatrix& matrix, const Detector& detector);

}  // namespace isocenter::wire
