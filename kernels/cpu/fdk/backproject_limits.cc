#include "kernels/cpu/fdk/backproject_limits.h"

#include <algorithm>
#include <cmath>

namespace isocenter::cpu {
namespace {

struct Range {
  double low, high;
};

double LargestMagnitude(Range r) { return std::max(std::abs(r.low), std::abs(r.high)); }

Range Extend(Range r, double value) { return {std::min(r.low, value), std::max(r.high, value)}; }

// Of (slope - position · w_slope) / w, the change of a detector position per voxel along z, for all
// positions and w in their ranges: the numerator is linear in the position, and w is positive.
Range PerVoxel(double slope, double w_slope, Range position, Range w) {
  const double a = slope - position.low * w_slope, b = slope - position.high * w_slope;
  const double low = std::min(a, b), high = std::max(a, b);
  return {low / (low < 0 ? w.low : w.high), high / (high > 0 ? w.low : w.high)};
}

}  // namespace

double BendAtCentre(const BackprojectView& view, const VoxelBox& box, int lanes) {
  const double x = 0.5 * (box.x0 + box.x1), y = 0.5 * (box.y0 + box.y1);
  const double z = 0.5 * (box.z0 + box.z1);
  const Projected first = view.matrix.Project({x, y, z - 0.5 * lanes});
  const Projected last = view.matrix.Project({x, y, z + 0.5 * lanes});
  if (!(first.w > kLeastDepth && last.w > kLeastDepth)) return 0;
  return (last.v() - first.v()) * (last.w - first.w) / (2 * (first.w + last.w));
}

bool IsRegularEverywhere(const BackprojectView& view, const VoxelBox& box, int lanes) {
  // The last block may reach beyond the box, and the patches' centres lie within these bounds too.
  const int end = box.z0 + (box.z1 - box.z0 + lanes - 1) / lanes * lanes;
  Range u{view.columns * 1.0, -1}, v{view.rows * 1.0, -1}, w{1e300, -1e300};
  for (int corner = 0; corner < 8; ++corner) {
    const Projected p = view.matrix.Project({static_cast<double>(corner & 1 ? box.x1 : box.x0),
                                             static_cast<double>(corner & 2 ? box.y1 : box.y0),
                                             static_cast<double>(corner & 4 ? end : box.z0)});
    if (!(p.w > kLeastDepth)) return false;
    // In front of the source the projection of a box is the hull of its corners'.
    u = Extend(u, p.u());
    v = Extend(v, p.v());
    w = Extend(w, p.w);
  }
  if (u.low < 0 || u.high > view.columns - 1 || v.low < 0 || v.high > view.rows - 1) return false;
  const auto& m = view.matrix.m;
  const Range du = PerVoxel(m[2], m[10], u, w), dv = PerVoxel(m[6], m[10], v, w);
  const double depth_change = std::abs(m[10]) * lanes / w.low;
  // A bend is lanes · dv · (change of w) / 4w; dv / w lies between quotients of the ranges' ends.
  const Range quotient{dv.low / (dv.low < 0 ? w.low : w.high),
                       dv.high / (dv.high > 0 ? w.low : w.high)};
  const double bend_v_spread = lanes * std::abs(m[10] * lanes) / 4 * (quotient.high - quotient.low);
  const double bend_u = lanes / 4.0 * LargestMagnitude(du) * depth_change;
  return depth_change < kMaxDepthChange && bend_u < kMaxBend && bend_v_spread < kMaxBend &&
         lanes * LargestMagnitude(du) < kMaxDrift;
}

}  // namespace isocenter::cpu
