// A ray through the grid from face to face: Jacobs, Sundermann, De Sutter, Christiaens, Lemahieu,
// "A fast algorithm to calculate the exact radiological path through a pixel or voxel space", J.
// Comput. Inform. Technol. 6 (1998) 89: Siddon's lengths without his sorted table. What comes next
// along each axis is a sum, not a search.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/projectors/ray_view.h"

namespace isocenter::cpu {

/// One index axis of a path. `w` runs along the ray (kernels/ops/projector.h).
struct PathAxis {
  double next;     // w of the next face
  double step;     // from face to face
  int index;       // of the voxel that the ray is in
  int toward;      // 1 or -1
  int64_t stride;  // floats from voxel to voxel in the ray's direction
};

/// What a ray has of the slab -0.5 to n - 0.5 of an axis, in w; empty where first >= last.
struct Stretch {
  double first, last;
};
Stretch Intersect(Stretch a, Stretch b);
/// `source` and `direction` in voxel indices.
Stretch InSlab(double source, double direction, int n);

/// The end of a stretch a little earlier: sums of steps come to the last face no later than it
/// does, and no voxel behind it is looked at. A share of 1e-12 of the way from the source is lost.
double BeforeLastFace(Stretch stretch);

/// The axis at the ray's position `first`.
PathAxis AxisAt(double first, double source, double direction, int n, int64_t stride);

/// A whole path. Empty where first >= last.
struct JacobsPath {
  double first, last;
  PathAxis x, y, z;
  int64_t offset;  // of the first voxel
};
JacobsPath PathOf(const RayView& view, double u, double v, const VolumeShape& volume);

/// Calls visit(offset of a voxel, length in w) from the first voxel to the last.
template <class Visit>
void Follow(JacobsPath path, Visit visit) {
  if (!(path.first < path.last)) return;
  double w = path.first;
  int64_t offset = path.offset;
  const auto cross = [&](PathAxis& axis) {
    visit(offset, axis.next - w);
    w = axis.next;
    axis.next += axis.step;
    offset += axis.stride;
  };
  while (true) {
    const double nearest = std::min(path.x.next, std::min(path.y.next, path.z.next));
    if (!(nearest < path.last)) break;
    if (nearest == path.x.next) {
      cross(path.x);
    } else if (nearest == path.y.next) {
      cross(path.y);
    } else {
      cross(path.z);
    }
  }
  if (w < path.last) visit(offset, path.last - w);
}

}  // namespace isocenter::cpu
