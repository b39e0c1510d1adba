// Back-projection of any geometry: every coordinate exact in every lane, samples gathered one by
// one. Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_
#undef ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/fdk/backproject_job.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// first = from[index], second = from[index + 1].
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// Neighbours come as one number of 64 bits: gathers take as long as they have lanes.
HWY_INLINE void GatherPairs(const float* HWY_RESTRICT from, hn::Vec<hn::RebindToSigned<D>> index,
                            V& first, V& second) {
  const D d;
  const hn::Repartition<int64_t, D> pairs;
  const hn::Half<hn::RebindToSigned<D>> half;
  const auto offset = hn::ShiftLeft<2>(index);
  const auto* const base = reinterpret_cast<const int64_t*>(from);
  const auto lower =
      hn::GatherOffset(pairs, base, hn::PromoteTo(pairs, hn::LowerHalf(half, offset)));
  const auto upper =
      hn::GatherOffset(pairs, base, hn::PromoteTo(pairs, hn::UpperHalf(half, offset)));
  first = hn::ConcatEven(d, hn::BitCast(d, upper), hn::BitCast(d, lower));
  second = hn::ConcatOdd(d, hn::BitCast(d, upper), hn::BitCast(d, lower));
}
#else
HWY_INLINE void GatherPairs(const float* HWY_RESTRICT from, hn::Vec<hn::RebindToSigned<D>> index,
                            V& first, V& second) {
  const D d;
  first = hn::GatherIndex(d, from, index);
  second = hn::GatherIndex(d, from + 1, index);
}
#endif

// Adds one view to the voxels (x, y, z) to (x, y, z + lanes - 1), which begin at `voxels`.
HWY_INLINE void GatherBlock(const BackprojectView& view, int x, int y, int z,
                            float* HWY_RESTRICT voxels) {
  const D d;
  const hn::RebindToSigned<D> di;
  const auto& m = view.matrix.m;
  const V lane = hn::Iota(d, 0.0f), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const Projected base =
      view.matrix.Project({static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
  // Positions relative to a pixel nearby keep the digits that matter.
  double near_u = 0, near_v = 0;
  if (base.w > 0) {
    near_u = std::floor(std::clamp(base.u(), -1.0, static_cast<double>(view.columns)));
    near_v = std::floor(std::clamp(base.v(), -1.0, static_cast<double>(view.rows)));
  }
  const auto along = [&](double start, double step) HWY_ATTR {
    return hn::MulAdd(lane, hn::Set(d, static_cast<float>(step)),
                      hn::Set(d, static_cast<float>(start)));
  };
  const V w = along(base.w, m[10]);
  const auto in_front = hn::Gt(w, zero);
  const V inverse = hn::Div(one, hn::IfThenElse(in_front, w, one));
  // Beyond one pixel outside everything is zero.
  const V u = hn::Clamp(hn::Mul(along(base.uw - near_u * base.w, m[2] - near_u * m[10]), inverse),
                        hn::Set(d, static_cast<float>(-1 - near_u)),
                        hn::Set(d, static_cast<float>(view.columns - near_u)));
  const V v = hn::Clamp(hn::Mul(along(base.vw - near_v * base.w, m[6] - near_v * m[10]), inverse),
                        hn::Set(d, static_cast<float>(-1 - near_v)),
                        hn::Set(d, static_cast<float>(view.rows - near_v)));
  const V iu = hn::Floor(u), iv = hn::Floor(v);
  const V a = hn::Sub(u, iu), b = hn::Sub(v, iv);
  const auto stride = hn::Set(di, static_cast<int32_t>(view.stride));
  const auto index = hn::Add(hn::Mul(hn::ConvertTo(di, iu), stride), hn::ConvertTo(di, iv));
  const float* image =
      view.image + static_cast<int64_t>(near_u) * view.stride + static_cast<int64_t>(near_v);
  V p00, p01, p10, p11;
  GatherPairs(image, index, p00, p01);
  GatherPairs(image + view.stride, index, p10, p11);
  const V left = hn::MulAdd(b, hn::Sub(p01, p00), p00);
  const V right = hn::MulAdd(b, hn::Sub(p11, p10), p10);
  const V value = hn::MulAdd(a, hn::Sub(right, left), left);
  const V weight = hn::IfThenElseZero(in_front, hn::Mul(inverse, inverse));
  hn::Store(hn::MulAdd(weight, value, hn::Load(d, voxels)), d, voxels);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
