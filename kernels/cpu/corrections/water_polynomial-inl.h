// The water polynomial on vectors. Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_WATER_POLYNOMIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_WATER_POLYNOMIAL_INL_H_
#undef ISOCENTER_KERNELS_CPU_WATER_POLYNOMIAL_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_WATER_POLYNOMIAL_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

// `coefficient`: of p, p² and so on; none: p.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V WaterOf(D d, const float* coefficient, int coefficients, V p) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (coefficients == 0) return p;
  V value = hn::Set(d, coefficient[coefficients - 1]);
  for (int n = coefficients - 2; n >= 0; --n) {
    value = hn::MulAdd(value, p, hn::Set(d, coefficient[n]));
  }
  return hn::Mul(value, p);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif
