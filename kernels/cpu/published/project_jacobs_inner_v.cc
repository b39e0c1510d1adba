#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/published/jacobs_path.h"
#include "kernels/cpu/published/jacobs_rays.h"
#include "kernels/cpu/published/jacobs_views.h"

namespace isocenter::cpu {
namespace {

// Whether the rays of a detector column cross x and y faces together: they part by less than this,
// in voxels at the isocentre.
bool ColumnsAlongZ(const RayView& view) {
  constexpr double kApart = 1e-6;
  return (std::abs(view.dv[0]) + std::abs(view.dv[1])) * view.rows < kApart;
}

// The rays of a detector column on their way through columns of voxels.
struct RaysAlongZ {
  std::vector<PathAxis> z;
  std::vector<Stretch> inside;  // the grid's slab of z
};

// What a detector column has in common: its way through x and y.
struct ColumnPath {
  double first, last;
  PathAxis x, y;
};

ColumnPath PathOfColumn(const RayView& view, int column, const VolumeShape& volume) {
  const double middle = 0.5 * (view.rows - 1);
  const double d[] = {view.Direction(0, column, middle), view.Direction(1, column, middle)};
  Stretch inside{0, std::numeric_limits<double>::infinity()};
  for (int axis = 0; axis < 2; ++axis) {
    inside = Intersect(inside, InSlab(view.source[axis], d[axis], volume.size[axis]));
  }
  ColumnPath path{.first = inside.first, .last = BeforeLastFace(inside)};
  if (!(path.first < path.last)) return path;
  const auto at = [&](int axis) {
    return AxisAt(path.first, view.source[axis], d[axis], volume.size[axis], volume.stride[axis]);
  };
  path.x = at(0);
  path.y = at(1);
  return path;
}

RaysAlongZ RaysOf(const RayView& view, int column, double first, const VolumeShape& volume) {
  RaysAlongZ rays;
  rays.z.reserve(view.rows);
  rays.inside.reserve(view.rows);
  for (int row = 0; row < view.rows; ++row) {
    const double d = view.Direction(2, column, row);
    Stretch inside = InSlab(view.source[2], d, volume.size[2]);
    inside = {std::max(first, inside.first), BeforeLastFace(inside)};
    rays.inside.push_back(inside);
    // Of a ray that is never inside anything will do: it is not followed.
    const double from = inside.first < inside.last ? inside.first : first;
    rays.z.push_back(AxisAt(from, view.source[2], d, volume.size[2], 1));
  }
  return rays;
}

// Calls visit(row, voxel, length in w) for what row's ray has of a column of voxels between two
// crossings of x or y faces.
template <class Visit>
void FollowInColumn(PathAxis& z, Stretch shared, int64_t column, Visit visit) {
  double w = shared.first;
  while (z.next < shared.last) {
    visit(column + z.index, z.next - w);
    w = z.next;
    z.next += z.step;
    z.index += z.toward;
  }
  if (w < shared.last) visit(column + z.index, shared.last - w);
}

// Calls visit(row, offset, length in w) for all rays of a detector column, from column of voxels to
// column of voxels.
template <class Visit>
void FollowColumn(const RayView& view, int column, const VolumeShape& volume, Visit visit) {
  ColumnPath path = PathOfColumn(view, column, volume);
  if (!(path.first < path.last)) return;
  RaysAlongZ rays = RaysOf(view, column, path.first, volume);
  int64_t voxels = path.x.index * volume.stride[0] + path.y.index * volume.stride[1];
  for (double w = path.first; w < path.last;) {
    PathAxis& next = path.x.next < path.y.next ? path.x : path.y;
    const double stop = std::min(next.next, path.last);
    for (int row = 0; row < view.rows; ++row) {
      const Stretch shared = Intersect({w, stop}, rays.inside[row]);
      if (!(shared.first < shared.last)) continue;
      FollowInColumn(rays.z[row], shared, voxels,
                     [&](int64_t offset, double length) { visit(row, offset, length); });
    }
    w = stop;
    next.next += next.step;
    voxels += next.stride;
  }
}

void ProjectInnerV(const RayView& view, int column, const VolumeShape& volume, const float* voxels,
                   float* stack) {
  if (!ColumnsAlongZ(view)) return ProjectRays(view, column, volume, voxels, stack);
  std::vector<double> sums(view.rows);
  FollowColumn(view, column, volume, [&](int row, int64_t offset, double length) {
    sums[row] += length * voxels[offset];
  });
  float* pixels = stack + view.image + column * view.stride;
  for (int row = 0; row < view.rows; ++row) {
    pixels[row] += static_cast<float>(sums[row] * MillimetresPerW(view, column, row));
  }
}

template <bool kAlone>
void Spread(const RayView& view, int column, const VolumeShape& volume, float* voxels,
            const float* stack) {
  const float* pixels = stack + view.image + column * view.stride;
  std::vector<double> values(view.rows);
  for (int row = 0; row < view.rows; ++row) {
    values[row] = pixels[row] * MillimetresPerW(view, column, row);
  }
  FollowColumn(view, column, volume, [&](int row, int64_t offset, double length) {
    AddTo<kAlone>(voxels[offset], static_cast<float>(length * values[row]));
  });
}

void SpreadInnerV(const RayView& view, int column, const VolumeShape& volume, float* voxels,
                  const float* stack, bool alone) {
  if (!ColumnsAlongZ(view)) return SpreadRays(view, column, volume, voxels, stack, alone);
  if (alone) {
    Spread<true>(view, column, volume, voxels, stack);
  } else {
    Spread<false>(view, column, volume, voxels, stack);
  }
}

}  // namespace

ForwardProjectOr NewProjectJacobsInnerV(ops::Session& session) {
  return NewColumnForward(session, ProjectInnerV);
}

MatchedBackprojectOr NewMatchedBackprojectJacobsInnerV(ops::Session& session) {
  return NewColumnBack(session, SpreadInnerV);
}

}  // namespace isocenter::cpu
