// Transforms of a few values in registers, of which the ramp filters are made.
#pragma once

#include <cuda_runtime.h>

namespace isocenter::cuda {

__device__ inline float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ inline float2 operator*(float s, float2 a) { return {s * a.x, s * a.y}; }
__device__ inline float2 Multiply(float2 a, float2 b) {
  return {fmaf(a.x, b.x, -a.y * b.y), fmaf(a.x, b.y, a.y * b.x)};
}
// a times -i of a forward transform, i of an inverse one.
template <bool kInverse>
__device__ inline float2 Turn(float2 a) {
  return kInverse ? float2{-a.y, a.x} : float2{a.y, -a.x};
}

// v[q] = Σ_k v[k] exp(∓2πi kq/R): minus forward, plus inverse.
template <bool kInverse>
__device__ inline void Transform(float2 (&v)[2]) {
  const float2 a = v[0];
  v[0] = a + v[1];
  v[1] = a - v[1];
}
template <bool kInverse>
__device__ inline void Transform(float2 (&v)[3]) {
  constexpr float kHalfRoot3 = 0.86602540378443864676f;
  const float2 sum = v[1] + v[2], turned = kHalfRoot3 * Turn<kInverse>(v[1] - v[2]);
  const float2 middle = v[0] - 0.5f * sum;
  v[0] = v[0] + sum;
  v[1] = middle + turned;
  v[2] = middle - turned;
}
template <bool kInverse>
__device__ inline void Transform(float2 (&v)[4]) {
  const float2 a = v[0] + v[2], b = v[0] - v[2];
  const float2 c = v[1] + v[3], d = Turn<kInverse>(v[1] - v[3]);
  v[0] = a + c;
  v[1] = b + d;
  v[2] = a - c;
  v[3] = b - d;
}
template <bool kInverse>
__device__ inline void Transform(float2 (&v)[5]) {
  constexpr float kCos1 = 0.30901699437494742410f, kCos2 = -0.80901699437494742410f;
  constexpr float kSin1 = 0.95105651629515357212f, kSin2 = 0.58778525229247312917f;
  const float2 a = v[1] + v[4], b = v[2] + v[3];
  const float2 c = Turn<kInverse>(v[1] - v[4]), d = Turn<kInverse>(v[2] - v[3]);
  const float2 p = v[0] + kCos1 * a + kCos2 * b, q = v[0] + kCos2 * a + kCos1 * b;
  const float2 r = kSin1 * c + kSin2 * d, s = kSin2 * c - kSin1 * d;
  v[0] = v[0] + a + b;
  v[1] = p + r;
  v[4] = p - r;
  v[2] = q + s;
  v[3] = q - s;
}
// 2 x 3 by the theorem of remainders, without factors between (Good, J. R. Stat. Soc. B 20 (1958)
// 361).
template <bool kInverse>
__device__ inline void Transform(float2 (&v)[6]) {
  float2 a[3] = {v[0], v[2], v[4]}, b[3] = {v[3], v[5], v[1]};
  Transform<kInverse>(a);
  Transform<kInverse>(b);
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    v[4 * k % 6] = a[k] + b[k];
    v[(4 * k + 3) % 6] = a[k] - b[k];
  }
}
template <bool kInverse>
__device__ inline void Transform(float2 (&v)[8]) {
  constexpr float kHalfRoot2 = 0.70710678118654752440f;
  float2 even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
  Transform<kInverse>(even);
  Transform<kInverse>(odd);
  const float2 t1 = Turn<kInverse>(odd[1]), t3 = Turn<kInverse>(odd[3]);
  odd[1] = kHalfRoot2 * (odd[1] + t1);
  odd[2] = Turn<kInverse>(odd[2]);
  odd[3] = kHalfRoot2 * (t3 - odd[3]);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    v[k] = even[k] + odd[k];
    v[k + 4] = even[k] - odd[k];
  }
}
// 4 x 4.
template <bool kInverse>
__device__ inline void Transform(float2 (&v)[16]) {
  constexpr float kHalfRoot2 = 0.70710678118654752440f;
  constexpr float kCos = 0.92387953251128675613f, kSin = 0.38268343236508977173f;  // of π/8
  // exp(-iπt/8) of t = 0, 1, 2, 3, 4, 6, 9
  constexpr float kReal[] = {1, kCos, kHalfRoot2, kSin, 0, 0, -kHalfRoot2, 0, 0, -kCos};
  constexpr float kImaginary[] = {0, -kSin, -kHalfRoot2, -kCos, -1, 0, -kHalfRoot2, 0, 0, kSin};
  float2 of[4][4];  // [frequency modulo 4][k modulo 4]
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    float2 every_fourth[4] = {v[k], v[k + 4], v[k + 8], v[k + 12]};
    Transform<kInverse>(every_fourth);
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int t = k * q;
      of[q][k] = t == 0   ? every_fourth[q]
                 : t == 4 ? Turn<kInverse>(every_fourth[q])
                          : Multiply(every_fourth[q],
                                     {kReal[t], kInverse ? -kImaginary[t] : kImaginary[t]});
    }
  }
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    Transform<kInverse>(of[q]);
#pragma unroll
    for (int p = 0; p < 4; ++p) v[q + 4 * p] = of[q][p];
  }
}

}  // namespace isocenter::cuda
