// Sums in float64 that come out the same in every bit whatever the length of the machine's vectors.
// Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_LANE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_LANE_SUMS_INL_H_
#undef ISOCENTER_KERNELS_CPU_LANE_SUMS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_LANE_SUMS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/iterative/lane_sums.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Term i of a run goes to sum i modulo kSummands. add(i, sums) must give the double-precision
// vector `sums` plus the terms from i on, one per lane.
template <class Add>
HWY_INLINE void SumRun(int64_t length, LaneSums& sums, const Add& add) {
  const hn::ScalableTag<double> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d)), kVectors = kSummands / kLanes;
  hn::Vec<decltype(d)> sum[kVectors];
  for (int k = 0; k < kVectors; ++k) sum[k] = hn::Load(d, sums.lanes + k * kLanes);
  int64_t i = 0;
  for (; i + kSummands <= length; i += kSummands) {
    for (int k = 0; k < kVectors; ++k) sum[k] = add(i + k * kLanes, sum[k]);
  }
  for (int k = 0; k < kVectors && i < length; ++k, i += kLanes) {
    const auto more = add(i, sum[k]);
    sum[k] = i + kLanes <= length
                 ? more
                 : hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(length - i)), more, sum[k]);
  }
  for (int k = 0; k < kVectors; ++k) hn::Store(sum[k], d, sums.lanes + k * kLanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
