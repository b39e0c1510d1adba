// Medians of few values, for a cache line of points at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/device/layout.h"

namespace isocenter::cpu {

inline constexpr int64_t kLanes = kLine;

/// Of an odd number of rows, lane by lane; they are in another order then: the largest half is
/// carried to the end, one by one.
template <int kRows>
const float* MedianOf(float (&rows)[kRows][kLanes]) {
  static_assert(kRows % 2 == 1);
  for (int last = kRows - 1; last >= kRows / 2; --last) {
    for (int n = 0; n < last; ++n) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const float a = rows[n][l], b = rows[n + 1][l];
        rows[n][l] = a < b ? a : b;
        rows[n + 1][l] = a < b ? b : a;
      }
    }
  }
  return rows[kRows / 2];
}

/// Of what has a ring's shape: beyond `most` it falls (kernels/ops/rings.h).
inline float Believed(float value, float most) {
  const float size = std::abs(value);
  return std::copysign(std::max(0.f, std::min(size, 2 * most - size)), value);
}

}  // namespace isocenter::cpu
