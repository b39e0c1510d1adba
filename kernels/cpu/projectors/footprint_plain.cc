#include "kernels/cpu/projectors/footprint_plain.h"

#include <algorithm>
#include <cmath>

namespace isocenter::cpu {
namespace {

// A voxel's share of pixel (u, v) is height · Across(u) · Along(v).
struct PlainFootprint {
  Footprint kind;
  double height;
  double u[4];  // corners of the trapezoid in order; the hat's centre in u[0]
  double v[2];  // ends of the rectangle; the hat's centre in v[0]

  double Across(double column) const {
    if (kind == Footprint::kHat) return std::max(0.0, 1 - std::abs(u[0] - column));
    return Below(column + 0.5) - Below(column - 0.5);
  }
  double Along(double row) const {
    if (kind == Footprint::kHat) return std::max(0.0, 1 - std::abs(v[0] - row));
    return std::max(0.0, std::min(v[1], row + 0.5) - std::max(v[0], row - 0.5));
  }
  // Integral of the trapezoid up to t.
  double Below(double t) const {
    const double rise = u[1] - u[0], fall = u[3] - u[2];
    const double up = std::clamp(t - u[0], 0.0, rise), down = std::clamp(t - u[2], 0.0, fall);
    double sum = std::clamp(t - u[1], 0.0, u[2] - u[1]) + down;
    if (rise > 0) sum += 0.5 * up * up / rise;
    if (fall > 0) sum -= 0.5 * down * down / fall;
    return sum;
  }
};

// Pixels [first, end) of a row or column of `count` that [low, high] with its reach touches.
struct Pixels {
  int first, end;
};
Pixels Touched(double low, double high, double reach, int first, int end) {
  return {static_cast<int>(std::clamp<double>(std::floor(low - reach) + 1, first, end)),
          static_cast<int>(std::clamp<double>(std::ceil(high + reach), first, end))};
}

// False where the voxel adds nothing.
bool FootprintOf(const FootprintView& view, Footprint kind, double x, double y, double z,
                 PlainFootprint& footprint) {
  const Projected centre = view.matrix.Project({x, y, z});
  if (!(centre.w > 0)) return false;
  footprint.kind = kind;
  footprint.height = view.mass * Norm(view.FromSource(x, y, z)) / (centre.w * centre.w * centre.w);
  if (kind == Footprint::kHat) {
    footprint.u[0] = footprint.u[3] = centre.u();
    footprint.v[0] = footprint.v[1] = centre.v();
    return true;
  }
  const auto at = [&](int axis, double half, int other, double other_half) {
    double index[] = {x, y, z};
    index[axis] += half;
    index[other] += other_half;
    return view.matrix.Project({index[0], index[1], index[2]});
  };
  const int b = (view.axial + 1) % 3, c = (view.axial + 2) % 3;
  for (int corner = 0; corner < 4; ++corner) {
    const Projected p = at(b, (corner & 1) == 0 ? -0.5 : 0.5, c, (corner & 2) == 0 ? -0.5 : 0.5);
    if (!(p.w > 0)) return false;
    footprint.u[corner] = p.u();
  }
  std::sort(footprint.u, footprint.u + 4);
  for (int end = 0; end < 2; ++end) {
    const Projected p = at(view.axial, end - 0.5, b, 0);
    if (!(p.w > 0)) return false;
    footprint.v[end] = p.v();
  }
  if (footprint.v[0] > footprint.v[1]) std::swap(footprint.v[0], footprint.v[1]);
  const auto& u = footprint.u;
  const double area = 0.5 * ((u[3] - u[0]) + (u[2] - u[1])) * (footprint.v[1] - footprint.v[0]);
  if (!(area > 0)) return false;
  footprint.height /= area;
  return true;
}

// Calls body(voxel, pixel, share) for every pixel that each voxel of the run sees.
template <class Body>
void ForEachShare(const FootprintView& view, Footprint kind, const VoxelRun& run,
                  ColumnRange wanted, const Body& body) {
  const double reach = kind == Footprint::kHat ? 1 : 0.5;
  for (int i = 0; i < run.count; ++i) {
    PlainFootprint footprint;
    if (!FootprintOf(view, kind, run.x, run.y, run.z + i, footprint)) continue;
    const Pixels columns = Touched(footprint.u[0], footprint.u[3], reach, wanted.first, wanted.end);
    const Pixels rows = Touched(footprint.v[0], footprint.v[1], reach, 0, view.rows);
    for (int u = columns.first; u < columns.end; ++u) {
      const double across = footprint.height * footprint.Across(u);
      float* const column = view.image + u * view.stride;
      for (int v = rows.first; v < rows.end; ++v) body(i, column[v], across * footprint.Along(v));
    }
  }
}

}  // namespace

void PlainForward(const FootprintView& view, Footprint footprint, const VoxelRun& run,
                  ColumnRange wanted, const float* voxels) {
  ForEachShare(view, footprint, run, wanted, [&](int voxel, float& pixel, double share) {
    pixel += static_cast<float>(share * voxels[voxel]);
  });
}

void PlainBack(const FootprintView& view, Footprint footprint, const VoxelRun& run, float* voxels) {
  double sums[kRunHeight] = {};
  ForEachShare(view, footprint, run, {0, view.columns},
               [&](int voxel, float& pixel, double share) { sums[voxel] += share * pixel; });
  for (int i = 0; i < run.count; ++i) voxels[i] += static_cast<float>(sums[i]);
}

}  // namespace isocenter::cpu
