// What the rays of a detector column have in common where they are upright over the grid: their way
// through x and y (Thompson & Lionheart, MIMS EPrint 2016.48, 2014).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/projectors/ray_view.h"

namespace isocenter::cpu {

/// What the rays have of one column of voxels: from w to w, as in RayView.
struct PathSegment {
  double from, to;
  int64_t offset;  // of the column's lowest voxel, in floats
};

/// Whether all rays of a detector column cross x and y faces together, as far as float32 can tell,
/// and none is steeper than one voxel along z per voxel along the other major axis, `heading`'s: in
/// a column of voxels a ray then meets one voxel or two.
bool SharesPath(const RayView& view, int u, Heading& heading);

/// The segments in the planes [first, last) of `axis` (0 or 1), in the rays' order; in front of the
/// source. `segments` is cleared first.
void FindSegments(const RayView& view, int u, const VolumeShape& volume, int axis, int first,
                  int last, std::vector<PathSegment>& segments);

}  // namespace isocenter::cpu
