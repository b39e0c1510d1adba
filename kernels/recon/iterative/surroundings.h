// What lies around the result's grid, in coarse voxels.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/recon/completeness/beyond_grid.h"
#include "kernels/recon/iterative/plan.h"

namespace isocenter::recon {

/// A grid around `grid`, with its middle and its axes and voxels `factor` times as large in each
/// direction. Along each axis it reaches twice as far as `grid`, or as far as the field of view
/// where that is more; but only half the way to the nearest source. Its voxels' borders lie on
/// those of the grid where the grid's number of voxels is a multiple of `factor`. Errors: as
/// ComputeFieldOfView and ValidateGrid.
absl::StatusOr<VolumeGrid> SurroundingGrid(const VolumeGrid& grid, int factor,
                                           const Trajectory& trajectory, const Detector& detector);

/// All that the plan has voxels for: the surroundings' grid, or the result's where there are none.
VolumeGrid GridWithSurroundings(const RefinementPlan& plan);

/// The result's grid, where coarse voxels surround it; else nothing.
std::optional<BeyondGrid::Surrounded> SurroundedGrid(const RefinementPlan& plan);

/// One for the voxels of `surroundings` whose centre lies outside of the box of `inner`'s voxels,
/// else zero; [z][y][x].
std::vector<float> OutsideMask(const VolumeGrid& surroundings, const VolumeGrid& inner);

}  // namespace isocenter::recon
