// The plan of a circular convolution of many rows with one real, even kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace isocenter::cpu {

/// Mixed-radix complex FFT, decimation in frequency forth and in time back, both in place, so that
/// no pass reorders: the spectrum is multiplied in the digit-reversed order in which it stands.
/// Since the response is real and even, it acts on the real and on the imaginary part alike: two
/// real rows share one complex transform and need not be untangled.
struct ConvolutionPlan {
  /// One level of the recursion: blocks of `length` values split into `radix` parts.
  struct Stage {
    int radix;
    int length;
    /// exp(-2πi·jp/length) as (re, im) for j in [0, length/radix), p in [1, radix).
    std::vector<float> twiddles;
  };
  int n = 0;
  std::vector<Stage> stages;    // the last has length == radix
  std::vector<float> response;  // in the order of the transformed values, times 1/n
};

/// The smallest n >= minimum that the transform takes: even, of factors 2, 3 and 5.
int ConvolutionLength(int minimum);

/// `response` holds n/2+1 values (ops::RampFilterResponse). n must come from ConvolutionLength.
ConvolutionPlan MakeConvolutionPlan(int n, std::span<const double> response);

}  // namespace isocenter::cpu
