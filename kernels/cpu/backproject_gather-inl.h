// Back-projection of any geometry: every coordinate exact in every lane, samples gathered one by
// one. Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_
#undef ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_BACKPROJECT_GATHER_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/backproject_job.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

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
  const V p00 = hn::GatherIndex(d, image, index), p01 = hn::GatherIndex(d, image + 1, index);
  const V p10 = hn::GatherIndex(d, image + view.stride, index);
  const V p11 = hn::GatherIndex(d, image + view.stride + 1, index);
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
