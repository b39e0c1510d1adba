// Scans and grids that a quarter turn takes to themselves.
#pragma once

#include "kernels/geometry/fan_beam.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter {

/// Whether where a pixel is seen in one view, three others are in the views a quarter turn on, so
/// that positions serve four times: `views` are all those of a full scan, four divides their
/// number, and the grid is square, around the axis. Then view v + k·views/4 sees pixel (i, j) where
/// view v sees the pixel that is turned back by k quarters: by one to (j, n-1-i) where β grows, to
/// (n-1-j, i) where it falls. After Zeng, Bai, Wang, Int. J. Biomed. Imaging 2007, 29160.
bool QuarterTurnsAreAlike(const FanBeamGeometry& geometry, int64_t views, const VolumeGrid& grid);

}  // namespace isocenter
