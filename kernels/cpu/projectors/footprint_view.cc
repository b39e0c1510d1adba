#include "kernels/cpu/projectors/footprint_view.h"

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

struct Pixels {
  int first, end;
};

// The pixels of [first, end) whose centres are less than `reach` from the extent, or a little more.
Pixels Touched(const Extent& extent, double reach, int first, int end) {
  // Rounding towards zero is rounding down where the limit is not below zero.
  const double low = std::clamp(extent.low - reach - kSlack + 1 - first, 0.0, 1.0 * end - first);
  const double high = std::clamp(extent.high + reach + kSlack + 1 - first, 0.0, 1.0 * end - first);
  return {first + static_cast<int>(low), first + static_cast<int>(high)};
}

// Of a number that is not negative; one more where it is whole.
int CeilingOf(double value) { return static_cast<int>(value) + 1; }

// The ends of a run, and how its voxels' edges along z lie around their centres.
struct RunEnds {
  Projected first, last;
  double corner_u[4], corner_w[4], corner_depth = 0;
};

RunEnds EndsOf(const FootprintView& view, bool trapezoid, const VoxelRun& run) {
  const auto& m = view.matrix.m;
  const double x = run.x, y = run.y;
  // Beyond the centres a trapezoid's voxel reaches by half of its edges.
  const double margin = trapezoid ? 0.5 : 0;
  RunEnds ends;
  ends.first = view.matrix.Project({x, y, run.z - margin});
  ends.last = view.matrix.Project({x, y, run.z + run.count - 1 + margin});
  for (int corner = 0; corner < 4; ++corner) {
    const double bx = (corner & 1) == 0 ? -margin : margin;
    const double by = (corner & 2) == 0 ? -margin : margin;
    ends.corner_u[corner] = bx * m[0] + by * m[1];
    ends.corner_w[corner] = bx * m[8] + by * m[9];
    ends.corner_depth = std::max(ends.corner_depth, std::abs(ends.corner_w[corner]));
  }
  return ends;
}

// Where a run in front of the source is seen.
Extent ColumnsOf(const RunEnds& ends, bool trapezoid) {
  Extent u;
  for (const Projected& end : {ends.first, ends.last}) {
    if (!trapezoid) u.Add(end.uw * (1 / end.w));
    for (int corner = 0; trapezoid && corner < 4; ++corner) {
      u.Add((end.uw + ends.corner_u[corner]) / (end.w + ends.corner_w[corner]));
    }
  }
  return u;
}

// Writes where the run and what is seen of it lie, relative to column near_u and a row in the
// middle.
void Place(const FootprintView& view, const VoxelRun& run, const RunEnds& ends, int near_u,
           const Pixels& columns, const Pixels& rows, RunGeometry& geometry) {
  const auto& m = view.matrix.m;
  const double x = run.x, y = run.y, middle = run.z + run.count / 2;
  const Projected centre = view.matrix.Project({x, y, middle});
  const int near_v = (rows.first + rows.end) / 2;
  geometry.u0 = static_cast<float>(centre.uw - near_u * centre.w);
  geometry.u1 = static_cast<float>(m[2] - near_u * m[10]);
  geometry.v0 = static_cast<float>(centre.vw - near_v * centre.w);
  geometry.v1 = static_cast<float>(m[6] - near_v * m[10]);
  geometry.w0 = static_cast<float>(centre.w);
  geometry.w1 = static_cast<float>(m[10]);
  for (int corner = 0; corner < 4; ++corner) {
    geometry.corner_u[corner] =
        static_cast<float>(ends.corner_u[corner] - near_u * ends.corner_w[corner]);
    geometry.corner_w[corner] = static_cast<float>(ends.corner_w[corner]);
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
  geometry.near_v = near_v;
  geometry.first_column = columns.first - near_u;
  geometry.columns = columns.end - columns.first;
  geometry.first_row = rows.first;
  geometry.end_row = rows.end;
  geometry.stride = view.stride;
  geometry.rows = view.rows;
  geometry.image = view.image + columns.first * view.stride;
}

}  // namespace

RunKind Describe(const FootprintView& view, Footprint footprint, const VoxelRun& run,
                 ColumnRange wanted, RunGeometry& geometry) {
  const bool trapezoid = footprint == Footprint::kTrapezoid;
  if (trapezoid && view.axial != 2) return RunKind::kOther;
  const RunEnds ends = EndsOf(view, trapezoid, run);
  const double nearest = std::min(ends.first.w, ends.last.w);
  if (!(nearest - ends.corner_depth > kLeastDepth)) return RunKind::kOther;

  // A hat reaches one pixel beyond its centre, a pixel half of its size.
  const double reach = trapezoid ? 0.5 : 1;
  const Pixels all_columns = Touched(ColumnsOf(ends, trapezoid), reach, 0, view.columns);
  const Pixels columns{std::max(all_columns.first, wanted.first),
                       std::min(all_columns.end, wanted.end)};
  Extent v;
  const double first_inverse = 1 / ends.first.w, last_inverse = 1 / ends.last.w;
  v.Add(ends.first.vw * first_inverse);
  v.Add(ends.last.vw * last_inverse);
  const Pixels rows = Touched(v, reach, 0, view.rows);
  if (!(columns.first < columns.end && rows.first < rows.end)) return RunKind::kUnseen;

  // From here on nothing depends on which columns are wanted: pixels must come out the same however
  // the columns are divided among threads.
  // dv/dz = slope / w².
  const auto& m = view.matrix.m;
  const double slope = m[6] * ends.first.w - m[10] * ends.first.vw, steepness = std::abs(slope);
  const double nearest_inverse = std::max(first_inverse, last_inverse);
  const double fastest = steepness * nearest_inverse * nearest_inverse;
  const double farthest = std::max(ends.first.w, ends.last.w);
  const double voxels_per_row = farthest * farthest / steepness;
  if (!(voxels_per_row < kMaxTaps && fastest < kMaxTaps &&
        all_columns.end - all_columns.first <= kMaxColumns)) {
    return RunKind::kOther;
  }
  geometry.forward_taps = CeilingOf(2 * reach * voxels_per_row + (trapezoid ? 1 : 0) + kSlack);
  geometry.back_taps = trapezoid ? CeilingOf(fastest + kSlack) + 1 : 2;
  if (geometry.forward_taps > kMaxTaps || geometry.back_taps > kMaxTaps) return RunKind::kOther;
  // Rows are traced back to voxels, also to some beyond the run: the depth must be much the same.
  if ((2 * geometry.forward_taps + 4) * std::abs(m[10]) > 0.25 * nearest) return RunKind::kOther;
  geometry.voxels_per_row = static_cast<float>(voxels_per_row);
  geometry.rows_per_voxel = static_cast<float>(fastest);
  geometry.ascending = slope > 0;
  Place(view, run, ends, all_columns.first, columns, rows, geometry);
  return RunKind::kRegular;
}

}  // namespace isocenter::cpu
