// Medians of few values in registers, and of many in memory by their bits.
#pragma once

#include <cstdint>

namespace isocenter::cuda {

/// Of an odd number of values, which are in another order then: the largest half is carried to the
/// end, one by one.
template <int kCount>
__device__ float MedianOf(float (&values)[kCount]) {
  static_assert(kCount % 2 == 1);
#pragma unroll
  for (int last = kCount - 1; last >= kCount / 2; --last) {
#pragma unroll
    for (int n = 0; n < last; ++n) {
      const float low = fminf(values[n], values[n + 1]);
      values[n + 1] = fmaxf(values[n], values[n + 1]);
      values[n] = low;
    }
  }
  return values[kCount / 2];
}

/// In the order of the numbers that they stand for; what is none is the last.
__device__ inline uint32_t KeyOf(float value) {
  if (isnan(value)) return 0xffffffffu;
  const uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

__device__ inline float ValueOf(uint32_t key) {
  return __uint_as_float((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

/// Of what has a ring's shape: beyond `most` it falls (kernels/ops/rings.h).
__device__ inline float Believed(float value, float most) {
  const float size = fabsf(value);
  return copysignf(fmaxf(0.f, fminf(size, 2 * most - size)), value);
}

}  // namespace isocenter::cuda
