// The lengths and factors of the transforms that the fused ramp filter makes in shared memory.
#pragma once

#include <cstdint>
#include <vector>

namespace isocenter::cuda {

/// A transform of length n = the product of its radices, as passes in place: a pass with radix r
/// splits each of the sequences it finds, of length L, into r of length L / r. Decimation in
/// frequency: the result is in digit-reversed order.
struct RowTransform {
  static constexpr int kMaxPasses = 10;
  int n = 1;
  int passes = 0;
  int radix[kMaxPasses] = {};  // each 2, 3, 4, 5 or 8

  /// One value in 17 of shared memory is left free, so that the passes' strides of powers of two
  /// fall into different banks.
  static constexpr int At(int i) { return i + (i >> 4); }
  int64_t shared_bytes() const { return int64_t{8} * (At(n) + 1); }
  /// Every device has this much shared memory for a block; longer rows are transformed by cuFFT.
  bool fits_shared_memory() const { return shared_bytes() <= 96 << 10; }
};

/// The cheapest transform of an even length, `least` (at least 1) or more.
RowTransform ChooseRowTransform(int least);

/// The frequency, 0..n-1, that is at each position after the last pass.
std::vector<int> FrequencyOrder(const RowTransform& transform);

}  // namespace isocenter::cuda
