// The kernels of arithmetic: one run of elements at a time. Included once per target by Highway's
// foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_ARITHMETIC_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_ARITHMETIC_RUNS_INL_H_
#undef ISOCENTER_KERNELS_CPU_ARITHMETIC_RUNS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_ARITHMETIC_RUNS_INL_H_
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/cpu/iterative/arithmetic_run.h"
#include "kernels/cpu/iterative/lane_sums-inl.h"
#include "kernels/ops/hounsfield.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// y[i] = value(i), `value` giving whole vectors. What lies behind the run is kept: the margins of
// projections must stay zero.
template <class Value>
HWY_INLINE void Assign(const ArithmeticRun& run, const Value& value) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= run.length; i += lanes) hn::StoreU(value(i), d, run.y + i);
  if (i < run.length) {
    hn::BlendedStore(value(i), hn::FirstN(d, static_cast<size_t>(run.length - i)), d, run.y + i);
  }
}

inline void Fill(const ArithmeticRun& run) {
  const V a = hn::Set(D(), run.a);
  Assign(run, [&](int64_t) HWY_ATTR { return a; });
}

inline void Copy(const ArithmeticRun& run) {
  const D d;
  Assign(run, [&](int64_t i) HWY_ATTR { return hn::LoadU(d, run.x + i); });
}

inline void Scale(const ArithmeticRun& run) {
  const D d;
  const V a = hn::Set(d, run.a);
  Assign(run, [&](int64_t i) HWY_ATTR { return hn::Mul(a, hn::LoadU(d, run.x + i)); });
}

inline void Axpby(const ArithmeticRun& run) {
  const D d;
  const V a = hn::Set(d, run.a), b = hn::Set(d, run.b);
  Assign(run, [&](int64_t i) HWY_ATTR {
    return hn::MulAdd(a, hn::LoadU(d, run.x + i), hn::Mul(b, hn::LoadU(d, run.y + i)));
  });
}

inline void Multiply(const ArithmeticRun& run) {
  const D d;
  Assign(run, [&](int64_t i)
                  HWY_ATTR { return hn::Mul(hn::LoadU(d, run.y + i), hn::LoadU(d, run.x + i)); });
}

inline void MultiplyAdd(const ArithmeticRun& run) {
  const D d;
  const V a = hn::Set(d, run.a);
  Assign(run, [&](int64_t i) HWY_ATTR {
    return hn::MulAdd(hn::Mul(a, hn::LoadU(d, run.w + i)), hn::LoadU(d, run.x + i),
                      hn::LoadU(d, run.y + i));
  });
}

// Comparisons are written so that a NaN of y counts as not above the threshold here, and stays NaN
// in the operations below, as in plain C++.
inline void Invert(const ArithmeticRun& run) {
  const D d;
  const V threshold = hn::Set(d, run.a), one = hn::Set(d, 1.0f);
  Assign(run, [&](int64_t i) HWY_ATTR {
    const V y = hn::LoadU(d, run.y + i);
    return hn::IfThenElseZero(hn::Gt(y, threshold), hn::Div(one, y));
  });
}

// A float32 number with the lower half of its digits cut off: products of two such are exact.
HWY_INLINE V UpperHalf(V value) {
  const D d;
  const hn::RebindToUnsigned<D> bits;
  return hn::BitCast(d, hn::And(hn::BitCast(bits, value), hn::Set(bits, 0xFFFFF000u)));
}

// exp((a + b)·y), a having the upper half of the digits. What rounding takes from the power would
// be the largest error of the result: it is worked out and put back.
inline void Exponential(const ArithmeticRun& run) {
  const D d;
  // Beyond, hn::Exp is not defined; its value there is infinite in float32.
  const V a = hn::Set(d, run.a), b = hn::Set(d, run.b), largest = hn::Set(d, 104.0f);
  const V finite = hn::Set(d, 88.0f);
  Assign(run, [&](int64_t i) HWY_ATTR {
    const V y = hn::LoadU(d, run.y + i);
    const V upper = UpperHalf(y);
    const V exact = hn::Mul(a, upper);
    const V lower = hn::Add(hn::Mul(a, hn::Sub(y, upper)), hn::Mul(b, y));
    const V power = hn::Add(exact, lower);
    const V rest = hn::Add(hn::Sub(exact, power), lower);
    const V value = hn::Exp(d, hn::Min(power, largest));
    const V corrected =
        hn::IfThenElse(hn::Lt(hn::Abs(power), finite), hn::MulAdd(value, rest, value), value);
    return hn::IfThenElse(hn::IsNaN(power), power, corrected);
  });
}

inline void ClampBelow(const ArithmeticRun& run) {
  const D d;
  const V least = hn::Set(d, run.a);
  Assign(run, [&](int64_t i) HWY_ATTR {
    const V y = hn::LoadU(d, run.y + i);
    return hn::IfThenElse(hn::Lt(y, least), least, y);
  });
}

inline void MultiplyAddAbove(const ArithmeticRun& run) {
  const D d;
  const V a = hn::Set(d, run.a), least = hn::Set(d, run.b);
  Assign(run, [&](int64_t i) HWY_ATTR {
    const V sum = hn::MulAdd(hn::Mul(a, hn::LoadU(d, run.w + i)), hn::LoadU(d, run.x + i),
                             hn::LoadU(d, run.y + i));
    return hn::IfThenElse(hn::Lt(sum, least), least, sum);
  });
}

inline void Bend(const ops::HounsfieldHinges& hinges, float* y, int64_t length) {
  const D d;
  const V slope = hn::Set(d, hinges.slope), offset = hn::Set(d, hinges.offset);
  Assign({.y = y, .length = length}, [&](int64_t i) HWY_ATTR {
    const V from = hn::LoadU(d, y + i);
    V value = hn::MulAdd(from, slope, offset);
    for (int k = 0; k < hinges.count; ++k) {
      const V beyond = hn::Max(hn::Zero(d), hn::Sub(from, hn::Set(d, hinges.at[k])));
      value = hn::MulAdd(hn::Set(d, hinges.turn[k]), beyond, value);
    }
    return value;
  });
}

inline void Dot(const float* x, const float* y, int64_t length, LaneSums& sums) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  SumRun(length, sums, [&](int64_t i, hn::Vec<decltype(d)> sum) HWY_ATTR {
    return hn::MulAdd(hn::PromoteTo(d, hn::LoadU(narrow, x + i)),
                      hn::PromoteTo(d, hn::LoadU(narrow, y + i)), sum);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
