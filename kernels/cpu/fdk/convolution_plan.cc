#include "kernels/cpu/fdk/convolution_plan.h"

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::cpu {
namespace {

// Odd radices first: what is left is a power of two, whose blocks are small enough for the nearest
// cache.
std::vector<int> Factors(int n) {
  std::vector<int> factors;
  for (int radix : {5, 3, 4, 2}) {
    while (n % radix == 0) {
      factors.push_back(radix);
      n /= radix;
    }
  }
  return n == 1 ? factors : std::vector<int>();
}

}  // namespace

int ConvolutionLength(int minimum) {
  int n = std::max(2, minimum + minimum % 2);
  while (Factors(n).empty()) n += 2;
  return n;
}

ConvolutionPlan MakeConvolutionPlan(int n, std::span<const double> response) {
  ConvolutionPlan plan{.n = n};
  int length = n;
  for (int radix : Factors(n)) {
    ConvolutionPlan::Stage stage{.radix = radix, .length = length};
    for (int j = 0; j < length / radix; ++j) {
      for (int p = 1; p < radix; ++p) {
        const double angle = -2 * kPi * j * p / length;
        stage.twiddles.push_back(static_cast<float>(std::cos(angle)));
        stage.twiddles.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    plan.stages.push_back(std::move(stage));
    length /= radix;
  }
  // Part p of a block of the first stage holds the frequencies p modulo its radix, and so on.
  plan.response.resize(n);
  for (int position = 0; position < n; ++position) {
    int frequency = 0, weight = 1, rest = position;
    for (const ConvolutionPlan::Stage& stage : plan.stages) {
      const int part = stage.length / stage.radix;
      frequency += rest / part * weight;
      rest %= part;
      weight *= stage.radix;
    }
    const int index = frequency <= n / 2 ? frequency : n - frequency;
    plan.response[position] = static_cast<float>(response[index] / n);
  }
  return plan;
}

}  // namespace isocenter::cpu
