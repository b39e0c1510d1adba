// The vector passes of ConvolutionPlan. Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_CONVOLUTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_CONVOLUTION_INL_H_
#undef ISOCENTER_KERNELS_CPU_CONVOLUTION_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_CONVOLUTION_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/fdk/convolution_plan.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

struct Complex {
  V re, im;
};

HWY_INLINE Complex Add(Complex a, Complex b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Complex Sub(Complex a, Complex b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
HWY_INLINE Complex Scale(V s, Complex a) { return {hn::Mul(s, a.re), hn::Mul(s, a.im)}; }
HWY_INLINE Complex MulAdd(V s, Complex a, Complex b) {
  return {hn::MulAdd(s, a.re, b.re), hn::MulAdd(s, a.im, b.im)};
}
// a - i·b and a + i·b.
HWY_INLINE Complex SubI(Complex a, Complex b) { return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)}; }
HWY_INLINE Complex AddI(Complex a, Complex b) { return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)}; }

// x times the twiddle factor, or times its conjugate.
template <bool kInverse>
HWY_INLINE Complex Twiddle(Complex x, const float* factor) {
  const D d;
  const V re = hn::Set(d, factor[0]), im = hn::Set(d, factor[1]);
  if constexpr (kInverse) {
    return {hn::MulAdd(x.im, im, hn::Mul(x.re, re)), hn::NegMulAdd(x.re, im, hn::Mul(x.im, re))};
  } else {
    return {hn::NegMulAdd(x.im, im, hn::Mul(x.re, re)), hn::MulAdd(x.re, im, hn::Mul(x.im, re))};
  }
}

// The discrete Fourier transform of kRadix values in place; with kInverse the unscaled inverse.
template <int kRadix, bool kInverse>
HWY_INLINE void Butterfly(Complex (&x)[kRadix]) {
  const D d;
  // Values p and kRadix - p are even -+ i·odd; the inverse swaps them.
  const auto split = [&x](int p, Complex even, Complex odd) HWY_ATTR {
    x[p] = kInverse ? AddI(even, odd) : SubI(even, odd);
    x[kRadix - p] = kInverse ? SubI(even, odd) : AddI(even, odd);
  };
  if constexpr (kRadix == 2) {
    const Complex a = x[0];
    x[0] = Add(a, x[1]);
    x[1] = Sub(a, x[1]);
  } else if constexpr (kRadix == 3) {
    const Complex sum = Add(x[1], x[2]);
    const Complex odd = Scale(hn::Set(d, 0.866025403784438647f), Sub(x[1], x[2]));
    const Complex even = MulAdd(hn::Set(d, -0.5f), sum, x[0]);
    x[0] = Add(x[0], sum);
    split(1, even, odd);
  } else if constexpr (kRadix == 4) {
    const Complex a = Add(x[0], x[2]), b = Sub(x[0], x[2]);
    const Complex c = Add(x[1], x[3]), e = Sub(x[1], x[3]);
    x[0] = Add(a, c);
    x[2] = Sub(a, c);
    split(1, b, e);
  } else {
    static_assert(kRadix == 5);
    const V c1 = hn::Set(d, 0.309016994374947424f), c2 = hn::Set(d, -0.809016994374947424f);
    const V s1 = hn::Set(d, 0.951056516295153572f), s2 = hn::Set(d, 0.587785252292473129f);
    const Complex p1 = Add(x[1], x[4]), p2 = Add(x[2], x[3]);
    const Complex m1 = Sub(x[1], x[4]), m2 = Sub(x[2], x[3]);
    const Complex even1 = MulAdd(c1, p1, MulAdd(c2, p2, x[0]));
    const Complex even2 = MulAdd(c2, p1, MulAdd(c1, p2, x[0]));
    const Complex odd1 = MulAdd(s1, m1, Scale(s2, m2));
    const Complex odd2 = Sub(Scale(s2, m1), Scale(s1, m2));
    x[0] = Add(x[0], Add(p1, p2));
    split(1, even1, odd1);
    split(2, even2, odd2);
  }
}

// One stage over a block: forth, each group of kRadix values is transformed and then turned by the
// twiddle factors; back, the same in the opposite order.
template <int kRadix, bool kInverse>
void Pass(const ConvolutionPlan::Stage& stage, float* HWY_RESTRICT block) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const size_t part = static_cast<size_t>(stage.length / kRadix);
  const float* twiddle = stage.twiddles.data();
  for (size_t j = 0; j < part; ++j, twiddle += 2 * (kRadix - 1)) {
    Complex x[kRadix];
    for (int p = 0; p < kRadix; ++p) {
      const float* value = block + (j + p * part) * 2 * lanes;
      x[p] = {hn::Load(d, value), hn::Load(d, value + lanes)};
      if (kInverse && p > 0) x[p] = Twiddle<true>(x[p], twiddle + 2 * (p - 1));
    }
    Butterfly<kRadix, kInverse>(x);
    for (int p = 0; p < kRadix; ++p) {
      float* value = block + (j + p * part) * 2 * lanes;
      if (!kInverse && p > 0) x[p] = Twiddle<false>(x[p], twiddle + 2 * (p - 1));
      hn::Store(x[p].re, d, value);
      hn::Store(x[p].im, d, value + lanes);
    }
  }
}

// The last stage forth, the product with the response, and the first stage back.
template <int kRadix>
HWY_INLINE void Middle(const float* response, float* HWY_RESTRICT block) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  Complex x[kRadix];
  for (int p = 0; p < kRadix; ++p) {
    x[p] = {hn::Load(d, block + 2 * p * lanes), hn::Load(d, block + (2 * p + 1) * lanes)};
  }
  Butterfly<kRadix, false>(x);
  for (int p = 0; p < kRadix; ++p) x[p] = Scale(hn::Set(d, response[p]), x[p]);
  Butterfly<kRadix, true>(x);
  for (int p = 0; p < kRadix; ++p) {
    hn::Store(x[p].re, d, block + 2 * p * lanes);
    hn::Store(x[p].im, d, block + (2 * p + 1) * lanes);
  }
}

template <int kRadix>
void ConvolveStage(const ConvolutionPlan& plan, size_t index, const float* response, float* block);

inline void ConvolveBlock(const ConvolutionPlan& plan, size_t index, const float* response,
                          float* block) {
  switch (plan.stages[index].radix) {
    case 2:
      return ConvolveStage<2>(plan, index, response, block);
    case 3:
      return ConvolveStage<3>(plan, index, response, block);
    case 4:
      return ConvolveStage<4>(plan, index, response, block);
    default:
      return ConvolveStage<5>(plan, index, response, block);
  }
}

// Depth first: once a block fits into a cache it stays there until its part of the convolution is
// done.
template <int kRadix>
void ConvolveStage(const ConvolutionPlan& plan, size_t index, const float* response, float* block) {
  const ConvolutionPlan::Stage& stage = plan.stages[index];
  if (stage.length == kRadix) return Middle<kRadix>(response, block);
  const size_t part = static_cast<size_t>(stage.length / kRadix);
  Pass<kRadix, false>(stage, block);
  for (size_t p = 0; p < kRadix; ++p) {
    ConvolveBlock(plan, index + 1, response + p * part, block + p * part * 2 * hn::Lanes(D()));
  }
  Pass<kRadix, true>(stage, block);
}

// data: plan.n complex values, each a vector of real and a vector of imaginary parts; convolved in
// place.
inline void Convolve(const ConvolutionPlan& plan, float* data) {
  ConvolveBlock(plan, 0, plan.response.data(), data);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
