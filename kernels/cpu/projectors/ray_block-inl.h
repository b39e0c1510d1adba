// One vector of rays: neighbouring rows of a detector column, one row per lane, with one heading.
// Included once per target by Highway's foreach_target.
//
// Both ray-driven models look at four voxels per plane: the ray's lower and upper neighbour along b
// times those along c. What sets them apart is a Model:
//   Low(position, extent)     where the lower neighbour's index is the whole part of; extent is how
//                             far the ray moves within the plane's slab
//   Share(rest, inverse)      the lower neighbour's share along one axis, where `rest` is how far
//                             the low position is from the next index and inverse = 1 / extent
//   BothLow(b, c, agree)      the share of the voxel that is lower along both
// Of the four weights, which sum up to one, these three determine the rest.

#if defined(ISOCENTER_KERNELS_CPU_RAY_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_RAY_BLOCK_INL_H_
#undef ISOCENTER_KERNELS_CPU_RAY_BLOCK_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_RAY_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "kernels/cpu/projectors/ray_view.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;

inline constexpr int kRays = static_cast<int>(hn::MaxLanes(D()));

/// Bilinear interpolation in the plane.
struct Joseph {
  static constexpr bool kSlabs = false;
  static HWY_INLINE V Low(V position, V) { return position; }
  static HWY_INLINE V Share(V rest, V) { return rest; }
  static HWY_INLINE V BothLow(V b, V c, hn::Mask<D>) { return hn::Mul(b, c); }
  static HWY_INLINE V Add(V sum, V b, V c, hn::Mask<D>, V ll, V lu, V ul, V uu) {
    const V lower = hn::MulAdd(c, hn::Sub(ll, lu), lu);
    const V upper = hn::MulAdd(c, hn::Sub(ul, uu), uu);
    return hn::Add(sum, hn::MulAdd(b, hn::Sub(lower, upper), upper));
  }
};

/// Lengths inside the voxels. Within a slab a ray moves by at most one voxel along b and c, so it
/// crosses at most one face of each: what it has of the lower voxel is the part before or after.
struct Siddon {
  static constexpr bool kSlabs = true;
  // A voxel reaches half an index to both sides of its centre.
  static HWY_INLINE V Low(V position, V extent) {
    const D d;
    return hn::NegMulAdd(extent, hn::Set(d, 0.5f), hn::Add(position, hn::Set(d, 0.5f)));
  }
  static HWY_INLINE V Share(V rest, V inverse) {
    const D d;
    return hn::Min(hn::Max(hn::Mul(rest, inverse), hn::Zero(d)), hn::Set(d, 1.0f));
  }
  // Two parts of one slab that begin at the same side overlap in the smaller one; if they begin at
  // opposite sides, what is lower along b and upper along c does.
  static HWY_INLINE V BothLow(V b, V c, hn::Mask<D> agree) {
    const V opposite = hn::Min(b, hn::Sub(hn::Set(D(), 1.0f), c));
    return hn::IfThenElse(agree, hn::Min(b, c), hn::Sub(b, opposite));
  }
  static HWY_INLINE V Add(V sum, V b, V c, hn::Mask<D> agree, V ll, V lu, V ul, V uu) {
    const V along_b = hn::Sub(lu, uu), along_c = hn::Sub(ul, uu);
    sum = hn::MulAdd(b, along_b, hn::Add(sum, uu));
    sum = hn::MulAdd(c, along_c, sum);
    return hn::MulAdd(BothLow(b, c, agree), hn::Sub(hn::Sub(ll, ul), along_b), sum);
  }
};

HWY_INLINE hn::Mask<D> Agree(V slope_b, V slope_c) {
  return hn::Ge(hn::Mul(slope_b, slope_c), hn::Zero(D()));
}

struct RayBlock {
  // In plane `reference`: the low positions relative to voxel (base_b, base_c), and what they
  // change by from plane to plane.
  V b, c, slope_b, slope_c;
  V inverse_b, inverse_c;  // of the extents
  hn::Mask<D> agree;       // both slopes have the same sign
  V length;                // mm of ray inside the slab of a plane
  int reference, base_b, base_c;
};

/// The rays of rows first_row + lane, at most the last row, or all of first_row where `one_row`.
/// What tells the lanes apart is small, and so is float32's error of it.
template <class Model>
HWY_INLINE RayBlock MakeRayBlock(const RayView& view, const VolumeShape& volume, RayAxes axes,
                                 int u, int first_row, bool one_row, const PlaneRun& planes) {
  const D d;
  const double half = one_row ? 0 : 0.5 * (kRays - 1), middle = first_row + half;
  const double along_a = view.Direction(axes.a, u, middle), per_a = 1 / along_a;
  const double slope_b = view.Direction(axes.b, u, middle) * per_a;
  const double slope_c = view.Direction(axes.c, u, middle) * per_a;
  const int to_reference = planes.count() / 2;
  const double from_source = planes.at + to_reference - view.source[axes.a];
  const double b = view.source[axes.b] + from_source * slope_b;
  const double c = view.source[axes.c] + from_source * slope_c;
  RayBlock block;
  block.reference = planes.first + to_reference;
  block.base_b = static_cast<int>(std::clamp(std::floor(b), 0.0, volume.size[axes.b] - 1.0));
  block.base_c = static_cast<int>(std::clamp(std::floor(c), 0.0, volume.size[axes.c] - 1.0));

  const auto set = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<float>(value)); };
  V row = hn::Zero(d);
  if (!one_row) row = hn::Min(hn::Sub(hn::Iota(d, 0.0f), set(half)), set(view.rows - 1 - middle));
  const V inverse_a =
      hn::Div(hn::Set(d, 1.0f), hn::MulAdd(row, set(view.dv[axes.a]), set(along_a)));
  const V share = hn::Mul(row, inverse_a);
  const V more_b = hn::Mul(share, set(view.dv[axes.b] - slope_b * view.dv[axes.a]));
  const V more_c = hn::Mul(share, set(view.dv[axes.c] - slope_c * view.dv[axes.a]));
  block.slope_b = hn::Add(set(slope_b), more_b);
  block.slope_c = hn::Add(set(slope_c), more_c);
  const V thickness = set(planes.thickness);
  const V extent_b = hn::Mul(hn::Abs(block.slope_b), thickness);
  const V extent_c = hn::Mul(hn::Abs(block.slope_c), thickness);
  block.b = Model::Low(hn::MulAdd(set(from_source), more_b, set(b - block.base_b)), extent_b);
  block.c = Model::Low(hn::MulAdd(set(from_source), more_c, set(c - block.base_c)), extent_c);
  // Rays along a plane of faces stay on one side.
  const V least = hn::Set(d, 1e-20f), one = hn::Set(d, 1.0f);
  block.inverse_b = hn::Div(one, hn::Max(extent_b, least));
  block.inverse_c = hn::Div(one, hn::Max(extent_c, least));
  block.agree = Agree(block.slope_b, block.slope_c);

  V square = hn::Zero(d);
  for (int i = 0; i < 3; ++i) {
    const V component =
        hn::MulAdd(row, set(view.world_v[i]),
                   set(view.world0[i] + u * view.world_u[i] + middle * view.world_v[i]));
    square = hn::MulAdd(component, component, square);
  }
  block.length = hn::Mul(hn::Mul(hn::Sqrt(square), hn::Abs(inverse_a)), thickness);
  return block;
}

/// Planes relative to a block's reference: [first, last).
struct PlaneRange {
  int first, last;
  bool empty() const { return first >= last; }
};

inline PlaneRange Intersect(PlaneRange a, PlaneRange b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

inline PlaneRange Hull(PlaneRange a, PlaneRange b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

/// The planes of `range` in which start + plane · slope is at least `bound`.
HWY_INLINE PlaneRange AtLeast(PlaneRange range, float start, float slope, float bound) {
  if (range.empty()) return range;
  const bool first = start + static_cast<float>(range.first) * slope >= bound;
  const bool last = start + static_cast<float>(range.last - 1) * slope >= bound;
  if (first && last) return range;
  if (!first && !last) return {range.first, range.first};
  // One of the ends is out, so the slope is not zero.
  const float crossing = (bound - start) / slope;
  const float low = static_cast<float>(range.first), high = static_cast<float>(range.last - 1);
  if (last) {
    return {static_cast<int>(std::clamp(std::ceil(crossing), low, high)), range.last};
  }
  return {range.first, static_cast<int>(std::clamp(std::floor(crossing), low, high)) + 1};
}

HWY_INLINE PlaneRange AtMost(PlaneRange range, float start, float slope, float bound) {
  return AtLeast(range, -start, -slope, -bound);
}

/// Low positions and slopes along one axis of a block's first and last lane: between them are all
/// others.
struct BlockEnds {
  float start[2], slope[2];
  HWY_INLINE float At(int end, int plane) const {
    return start[end] + static_cast<float>(plane) * slope[end];
  }
  HWY_INLINE float Spread(int plane) const { return std::abs(At(1, plane) - At(0, plane)); }
};

HWY_INLINE BlockEnds EndsOf(V start, V slope) {
  const D d;
  HWY_ALIGN_MAX float starts[kRays], slopes[kRays];
  hn::Store(start, d, starts);
  hn::Store(slope, d, slopes);
  return {{starts[0], starts[kRays - 1]}, {slopes[0], slopes[kRays - 1]}};
}

/// Where every lane's position is in [low, high].
HWY_INLINE PlaneRange WhereAll(PlaneRange range, const BlockEnds& ends, float low, float high) {
  for (int i = 0; i < 2; ++i) {
    range = AtLeast(range, ends.start[i], ends.slope[i], low);
    range = AtMost(range, ends.start[i], ends.slope[i], high);
  }
  return range;
}

/// A range beyond which no lane's position is in [low, high].
HWY_INLINE PlaneRange WhereAny(PlaneRange range, const BlockEnds& ends, float low, float high) {
  const PlaneRange above = Hull(AtLeast(range, ends.start[0], ends.slope[0], low),
                                AtLeast(range, ends.start[1], ends.slope[1], low));
  const PlaneRange below = Hull(AtMost(range, ends.start[0], ends.slope[0], high),
                                AtMost(range, ends.start[1], ends.slope[1], high));
  return Intersect(above, below);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
