#include "kernels/cpu/fdk/convolution_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace isocenter::cpu {
namespace {

TEST(ConvolutionLength, IsEvenSmoothAndLeast) {
  EXPECT_EQ(ConvolutionLength(1), 2);
  EXPECT_EQ(ConvolutionLength(2), 2);
  EXPECT_EQ(ConvolutionLength(7), 8);
  EXPECT_EQ(ConvolutionLength(13), 16);    // 14 has the factor 7
  EXPECT_EQ(ConvolutionLength(241), 250);  // 242 = 2·11², 244 = 4·61, 246 = 6·41, 248 = 8·31
  EXPECT_EQ(ConvolutionLength(1240), 1250);
}

TEST(ConvolutionPlan, VisitsEachFrequencyOnce) {
  for (const int n : {2, 6, 10, 60, 250, 1280}) {
    // A response whose values tell the frequencies apart.
    std::vector<double> response(n / 2 + 1);
    for (int f = 0; f <= n / 2; ++f) response[f] = n * (f + 1.0);
    const ConvolutionPlan plan = MakeConvolutionPlan(n, response);
    int product = 1;
    for (const auto& stage : plan.stages) product *= stage.radix;
    EXPECT_EQ(product, n);
    EXPECT_EQ(plan.stages.back().length, plan.stages.back().radix);
    std::multiset<float> seen(plan.response.begin(), plan.response.end());
    for (int f = 0; f <= n / 2; ++f) {
      EXPECT_EQ(seen.count(static_cast<float>(f + 1)), f == 0 || f == n / 2 ? 1u : 2u)
          << n << " " << f;
    }
  }
}

}  // namespace
}  // namespace isocenter::cpu
