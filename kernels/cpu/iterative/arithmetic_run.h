// What the driver of arithmetic hands to its kernels (arithmetic_runs-inl.h).
#pragma once

#include <cstdint>

namespace isocenter::cpu {

/// The operands of one run; those that an operation does not have are not read.
struct ArithmeticRun {
  float a = 0, b = 0;
  const float* w = nullptr;
  const float* x = nullptr;
  float* y = nullptr;
  int64_t length = 0;
};

}  // namespace isocenter::cpu
