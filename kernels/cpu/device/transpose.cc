#include "kernels/cpu/device/transpose.h"

#include <cstdint>

#include "kernels/cpu/device/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/device/transpose.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come before the headers that it compiles once per target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kCell = 4;

HWY_INLINE void TransposeCell(const float* from, int64_t from_stride, float* to,
                              int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t row = 0; row < kCell; ++row) {
    for (int64_t column = 0; column < kCell; ++column) {
      to[column * to_stride + row] = from[row * from_stride + column];
    }
  }
#else
  const hn::Simd<float, kCell, 0> d;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_stride);
  const auto r2 = hn::LoadU(d, from + 2 * from_stride), r3 = hn::LoadU(d, from + 3 * from_stride);
  const auto even01 = hn::InterleaveLower(d, r0, r2), odd01 = hn::InterleaveLower(d, r1, r3);
  const auto even23 = hn::InterleaveUpper(d, r0, r2), odd23 = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, even01, odd01), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even01, odd01), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, even23, odd23), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, even23, odd23), d, to + 3 * to_stride);
#endif
}

// The side whose rows lie farther apart is gone through in long runs, four rows at a time: its
// pages are the expensive ones. The lines of the other side stay in the cache from run to run.
void TransposeCells(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                    float* to, int64_t to_stride) {
  const int64_t whole_rows = rows / kCell * kCell, whole_columns = columns / kCell * kCell;
  const auto cell = [&](int64_t row, int64_t column) HWY_ATTR {
    TransposeCell(from + row * from_stride + column, from_stride, to + column * to_stride + row,
                  to_stride);
  };
  if (from_stride > to_stride) {
    for (int64_t row = 0; row < whole_rows; row += kCell) {
      for (int64_t column = 0; column < whole_columns; column += kCell) cell(row, column);
    }
  } else {
    for (int64_t column = 0; column < whole_columns; column += kCell) {
      for (int64_t row = 0; row < whole_rows; row += kCell) cell(row, column);
    }
  }
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = column < whole_columns ? whole_rows : 0; row < rows; ++row) {
      to[column * to_stride + row] = from[row * from_stride + column];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {
namespace {

HWY_EXPORT(TransposeCells);

}  // namespace

void Transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
               int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(TransposeCells)(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
