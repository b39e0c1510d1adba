// Copies between arrays whose fast axes differ.
#pragma once

#include <cstdint>

namespace isocenter::cpu {

/// to[column * to_stride + row] = from[row * from_stride + column]. Strides are in floats.
void Transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
               int64_t to_stride);

}  // namespace isocenter::cpu
