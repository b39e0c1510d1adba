// The rays of a view in voxel indices: what the ray-driven projectors share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/device/layout.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cpu {

/// An index axis and the side to which rays go along it.
struct Heading {
  int axis = 0;           // 0, 1, 2 for x, y, z
  bool backward = false;  // towards smaller indices
  friend bool operator==(const Heading&, const Heading&) = default;
};

/// Pixel (u, v) sees source + w·d(u, v), w > 0, d = d0 + u·du + v·dv, in voxel indices.
struct RayView {
  using Triple = std::array<double, 3>;
  Triple source, d0, du, dv;
  Triple world0, world_u, world_v;  // the same direction in millimetres
  int64_t image;                    // where pixel (0, 0) is in the stack
  int64_t stride;                   // from column to column
  int rows, columns;

  double Direction(int axis, double u, double v) const {
    return d0[axis] + u * du[axis] + v * dv[axis];
  }
  /// The major axis (kernels/ops/projector.h).
  Heading HeadingOf(double u, double v) const {
    const double d[] = {Direction(0, u, v), Direction(1, u, v), Direction(2, u, v)};
    int axis = 0;
    for (int a = 1; a < 3; ++a) {
      if (std::abs(d[a]) > std::abs(d[axis])) axis = a;
    }
    return {axis, d[axis] < 0};
  }
  /// The same for all rows from `first` to `last` of a column. Directions of one heading are a
  /// convex cone: where both ends are inside, so is what lies between.
  bool IsUniform(double u, double first, double last, Heading& heading) const {
    heading = HeadingOf(u, first);
    return HeadingOf(u, last) == heading;
  }
  /// The same for the whole detector.
  bool IsUniform(Heading& heading) const {
    Heading other;
    return IsUniform(0, 0, rows - 1, heading) && IsUniform(columns - 1, 0, rows - 1, other) &&
           other == heading;
  }
};

/// matrices[i] belongs to view i of a stack of `shape` in ColumnLayout.
std::vector<RayView> MakeRayViews(std::span<const ProjectionMatrix> matrices,
                                  const VolumeGrid& grid, Shape3 shape);

/// The extents of a volume in VolumeLayout.
struct VolumeShape {
  explicit VolumeShape(const VolumeGrid& grid);
  std::array<int, 3> size;        // along x, y, z
  std::array<int64_t, 3> stride;  // floats
  /// Along the axis that has most.
  int planes() const { return std::max({size[0], size[1], size[2]}); }
};

/// The axes of rays with one major axis; c is the one along which memory is densest.
struct RayAxes {
  explicit RayAxes(int major) : a(major), b(major == 1 ? 0 : 1), c(major == 2 ? 0 : 2) {}
  int a, b, c;
};

/// Planes perpendicular to the major axis, each with the slab around it that it stands for: plane
/// first + i is sampled at position at + i, and its slab is `thickness` planes thick.
struct PlaneRun {
  int first = 0, last = 0;  // [first, last)
  double at = 0;
  double thickness = 1;
  int count() const { return last - first; }
};

/// The planes of [first, last) whose centres are in front of the source.
PlaneRun PlanesInFront(double source, Heading heading, int first, int last);

/// Those whose whole slabs are in front of the source, and the one (or none) that the source is in,
/// cut to its part in front.
struct SlabRuns {
  PlaneRun whole, part;
};
SlabRuns SlabsInFront(double source, Heading heading, int first, int last);

}  // namespace isocenter::cpu
