#include "kernels/cpu/transpose.h"

#include <algorithm>
#include <cstring>

namespace isocenter::cpu {
namespace {

constexpr int64_t kBlock = 16;  // one cache line of floats

// Through a small block that stays in registers and the nearest cache, so that both sides are read
// and written in whole lines.
void TransposeBlock(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  float block[kBlock][kBlock];
  for (int64_t row = 0; row < kBlock; ++row) {
    float line[kBlock];
    std::memcpy(line, from + row * from_stride, sizeof(line));
    for (int64_t column = 0; column < kBlock; ++column) block[column][row] = line[column];
  }
  for (int64_t column = 0; column < kBlock; ++column) {
    std::memcpy(to + column * to_stride, block[column], sizeof(block[column]));
  }
}

}  // namespace

void Transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
               int64_t to_stride) {
  for (int64_t row = 0; row < rows; row += kBlock) {
    const int64_t block_rows = std::min(kBlock, rows - row);
    for (int64_t column = 0; column < columns; column += kBlock) {
      const int64_t block_columns = std::min(kBlock, columns - column);
      const float* source = from + row * from_stride + column;
      float* target = to + column * to_stride + row;
      if (block_rows == kBlock && block_columns == kBlock) {
        TransposeBlock(source, from_stride, target, to_stride);
        continue;
      }
      for (int64_t i = 0; i < block_columns; ++i) {
        for (int64_t j = 0; j < block_rows; ++j) {
          target[i * to_stride + j] = source[j * from_stride + i];
        }
      }
    }
  }
}

}  // namespace isocenter::cpu
