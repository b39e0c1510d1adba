#include "kernels/cpu/footprint_view.h"

#include <algorithm>
#include <cmath>

namespace isocenter::cpu {
namespace {

// Rounding in the kernels moves a position by less than this many pixels.
constexpr double kSlack = 1e-3;
// Of the isocentre's depth. Closer to the source float32 is too coarse.
constexpr double kLeastDepth = 0.02;

struct Extent {
  double low = 1e300, high = -1e300;
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

}  // namespace

RunKind Describe(const FootprintView& view, Footprint footprint, const VoxelRun& run,
                 ColumnRange wanted, RunGeometry& geometry) {
  const bool trapezoid = footprint == Footprint::kTrapezoid;
  if (trapezoid && view.axial != 2) return RunKind::kOther;
  const auto& m = view.matrix.m;
  const double x = run.x, y = run.y;
  // Beyond the centres a trapezoid's voxel reaches by half of its edges.
  const double margin = trapezoid ? 0.5 : 0;
  const Projected first = view.matrix.Project({x, y, run.z - margin});
  const Projected last = view.matrix.Project({x, y, run.z + run.count - 1 + margin});
  double corner_u[4], corner_w[4], corner_depth = 0;
  for (int corner = 0; corner < 4; ++corner) {
    const double bx = (corner & 1) == 0 ? -margin : margin;
    const double by = (corner & 2) == 0 ? -margin : margin;
    corner_u[corner] = bx * m[0] + by * m[1];
    corner_w[corner] = bx * m[8] + by * m[9];
    corner_depth = std::max(corner_depth, std::abs(corner_w[corner]));
  }
  const double nearest = std::min(first.w, last.w), farthest = std::max(first.w, last.w);
  if (!(nearest - corner_depth > kLeastDepth)) return RunKind::kOther;

  Extent u, v;
  for (int corner = 0; corner < (trapezoid ? 4 : 1); ++corner) {
    u.Add((first.uw + corner_u[corner]) / (first.w + corner_w[corner]));
    u.Add((last.uw + corner_u[corner]) / (last.w + corner_w[corner]));
  }
  v.Add(first.v());
  v.Add(last.v());
  // A hat reaches one pixel beyond its centre, a pixel half of its size.
  const double reach = trapezoid ? 0.5 : 1;
  const auto first_touched = [&](double low) { return std::floor(low - reach - kSlack) + 1; };
  const auto end_touched = [&](double high) { return std::ceil(high + reach + kSlack); };
  const double first_column = std::max<double>(first_touched(u.low), wanted.first);
  const double end_column = std::min<double>(end_touched(u.high), wanted.end);
  const double first_row = std::max<double>(first_touched(v.low), 0);
  const double end_row = std::min<double>(end_touched(v.high), view.rows);
  if (!(first_column < end_column && first_row < end_row)) return RunKind::kUnseen;

  // dv/dz = slope / w².
  const double slope = m[6] * first.w - m[10] * first.vw;
  const double slowest = std::abs(slope) / (farthest * farthest);
  const double fastest = std::abs(slope) / (nearest * nearest);
  const double forward_taps = std::ceil(2 * reach / slowest + (trapezoid ? 1 : 0) + kSlack);
  const double back_taps = trapezoid ? std::ceil(fastest + kSlack) + 1 : 2;
  if (!(forward_taps <= kMaxTaps && back_taps <= kMaxTaps &&
        end_column - first_column <= kMaxColumns)) {
    return RunKind::kOther;
  }
  // Rows are traced back to voxels, also to some beyond the run: the depth must be much the same.
  if ((2 * forward_taps + 4) * std::abs(m[10]) > 0.25 * nearest) return RunKind::kOther;

  const double middle = run.z + run.count / 2;
  const Projected centre = view.matrix.Project({x, y, middle});
  const double near_u = std::floor(std::clamp(centre.u(), 0.0, 1.0 * view.columns));
  const double near_v = std::floor(std::clamp(centre.v(), 0.0, 1.0 * view.rows));
  geometry.u0 = static_cast<float>(centre.uw - near_u * centre.w);
  geometry.u1 = static_cast<float>(m[2] - near_u * m[10]);
  geometry.v0 = static_cast<float>(centre.vw - near_v * centre.w);
  geometry.v1 = static_cast<float>(m[6] - near_v * m[10]);
  geometry.w0 = static_cast<float>(centre.w);
  geometry.w1 = static_cast<float>(m[10]);
  for (int corner = 0; corner < 4; ++corner) {
    geometry.corner_u[corner] = static_cast<float>(corner_u[corner] - near_u * corner_w[corner]);
    geometry.corner_w[corner] = static_cast<float>(corner_w[corner]);
  }
  geometry.mass = static_cast<float>(view.mass);
  const Vec3 from_source = view.FromSource(x, y, middle);
  const double from[] = {from_source.x, from_source.y, from_source.z};
  const double step[] = {view.step[2].x, view.step[2].y, view.step[2].z};
  for (int axis = 0; axis < 3; ++axis) {
    geometry.from_source[axis] = static_cast<float>(from[axis]);
    geometry.step[axis] = static_cast<float>(step[axis]);
  }
  geometry.count = run.count;
  geometry.near_v = static_cast<int>(near_v);
  geometry.first_column = static_cast<int>(first_column - near_u);
  geometry.columns = static_cast<int>(end_column - first_column);
  geometry.first_row = static_cast<int>(first_row);
  geometry.end_row = static_cast<int>(end_row);
  geometry.forward_taps = static_cast<int>(forward_taps);
  geometry.back_taps = static_cast<int>(back_taps);
  geometry.ascending = slope > 0;
  geometry.stride = view.stride;
  geometry.rows = view.rows;
  geometry.image = view.image + static_cast<int64_t>(first_column) * view.stride;
  return RunKind::kRegular;
}

}  // namespace isocenter::cpu
