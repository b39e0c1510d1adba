// Tables of HU in kernels.
#pragma once

#include "kernels/ops/hounsfield.h"

namespace isocenter::cuda {

__device__ inline float At(const ops::HounsfieldHinges& hinges, float from) {
  float to = fmaf(from, hinges.slope, hinges.offset);
  for (int k = 0; k < hinges.count; ++k) {
    to = fmaf(hinges.turn[k], fmaxf(0.f, from - hinges.at[k]), to);
  }
  return to;
}

}  // namespace isocenter::cuda
