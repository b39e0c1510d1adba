// The vector passes of CutRowsPlan: rows side by side, one in each lane. Included once per target
// by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_
#undef ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/fdk/cut_rows_plan.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace cut_rows {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// `edge` is an edge's pixel, `outwards` the distance to the next one beyond it.
inline void Mirror(const CutRowsPlan& plan, float* edge, int64_t outwards) {
  const D d;
  const V first = hn::Load(d, edge), twice = hn::Add(first, first);
  for (int64_t k = 1; k <= plan.extension; ++k) {
    const V mirrored = hn::Sub(twice, hn::Load(d, edge - k * outwards));
    hn::Store(hn::Mul(hn::Set(d, plan.fade[k - 1]), hn::Max(hn::Zero(d), mirrored)), d,
              edge + k * outwards);
  }
}

inline void Cylinder(const CutRowsPlan& plan, float* edge, int64_t outwards) {
  const D d;
  V curvature = hn::Zero(d);
  for (size_t j = 0; j < plan.curvature.size(); ++j) {
    const V pixel = hn::Load(d, edge - static_cast<int64_t>(j) * outwards);
    curvature = hn::MulAdd(hn::Set(d, plan.curvature[j]), hn::Mul(pixel, pixel), curvature);
  }
  curvature = hn::Max(hn::Zero(d), curvature);
  const V first = hn::Max(hn::Zero(d), hn::Load(d, edge)), square = hn::Mul(first, first);
  V slope = hn::Mul(hn::Set(d, plan.slope_of_curvature), curvature);
  for (size_t k = 0; k < plan.slope.size(); ++k) {
    const V pixel = hn::Load(d, edge - static_cast<int64_t>(k + 1) * outwards);
    slope = hn::MulAdd(hn::Set(d, plan.slope[k]), hn::MulSub(pixel, pixel, square), slope);
  }
  const auto length = static_cast<float>(plan.extension);
  const V ends =
      hn::NegMulAdd(square, hn::Set(d, 1 / length), hn::Mul(curvature, hn::Set(d, length)));
  slope = hn::Min(slope, hn::Min(hn::Zero(d), ends));
  for (int64_t k = 1; k <= plan.extension; ++k) {
    const V at = hn::Set(d, static_cast<float>(k));
    const V chord = hn::MulAdd(at, hn::NegMulAdd(curvature, at, slope), square);
    hn::Store(hn::Sqrt(hn::Max(hn::Zero(d), chord)), d, edge + k * outwards);
  }
}

// In place; 0 at both edges.
inline void DifferentiateTwice(const CutRowsPlan& plan, float* row, int64_t pitch) {
  const D d;
  V before = hn::Load(d, row);
  hn::Store(hn::Zero(d), d, row);
  for (int64_t u = 1; u + 1 < plan.columns; ++u) {
    const V here = hn::Load(d, row + u * pitch), after = hn::Load(d, row + (u + 1) * pitch);
    hn::Store(hn::Sub(hn::Add(before, after), hn::Add(here, here)), d, row + u * pitch);
    before = here;
  }
  hn::Store(hn::Zero(d), d, row + (plan.columns - 1) * pitch);
}

// `row` is pixel 0 of the first lanes, `pitch` the distance of pixels; there is room for the
// extension on both sides.
inline void Prepare(const CutRowsPlan& plan, float* row, int64_t pitch) {
  if (plan.truncation == ops::Truncation::kAtract) return DifferentiateTwice(plan, row, pitch);
  if (plan.extension == 0) return;
  const auto extend = plan.truncation == ops::Truncation::kMirror ? Mirror : Cylinder;
  extend(plan, row, -pitch);
  extend(plan, row + (plan.columns - 1) * pitch, pitch);
}

}  // namespace cut_rows

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
