#include "kernels/calibrate/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/phantom/generator.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

TEST(SweepStatistics, OfNormalFramesHasTheirMeanAndSigma) {
  constexpr int kFrames = 40, kPixels = 2000;
  SweepStatistics sweep(kPixels, kFrames);
  phantom::Generator draws(1);
  std::vector<float> frame(kPixels);
  for (int k = 0; k < kFrames; ++k) {
    for (float& value : frame) value = static_cast<float>(50000 + 8 * draws.Normal());
    sweep.Add(frame);
  }
  double mean = 0, variance = 0, trimmed = 0, change = 0;
  for (int i = 0; i < kPixels; ++i) {
    mean += sweep.Mean(i) / kPixels;
    variance += sweep.Sigma(i) * sweep.Sigma(i) / kPixels;
    trimmed += sweep.TrimmedSigma(i) / kPixels;
    change += sweep.Change(i) * sweep.Change(i) / kPixels;
  }
  EXPECT_NEAR(mean, 50000, 5 * 8 / std::sqrt(kFrames * kPixels));
  EXPECT_NEAR(variance, 64, 5 * 64 * std::sqrt(2.0 / (kFrames * kPixels)));
  EXPECT_LT(trimmed, 8);
  EXPECT_GT(trimmed, 5);
  // Of two halves of 20: σ²·2/20; trimming by two costs a few percent.
  EXPECT_NEAR(change, 64 * 2.0 / 20, 1);
}

TEST(SweepStatistics, ASingleEventChangesNothing) {
  SweepStatistics sweep(1, 20);
  for (int k = 0; k < 20; ++k) sweep.Add(std::vector<float>{k == 13 ? 60000.0f : 100.0f});
  EXPECT_EQ(sweep.Mean(0), 100);
  EXPECT_EQ(sweep.TrimmedSigma(0), 0);
  EXPECT_EQ(sweep.Change(0), 0);
}

TEST(SweepStatistics, FewFramesAreRefused) {
  EXPECT_THAT(CheckSweepFrames("the dark sweep", 9).message(),
              HasSubstr("the dark sweep has 9 frames; legal is 10 to 10000"));
  EXPECT_TRUE(CheckSweepFrames("the dark sweep", 10).ok());
}

TEST(FlatFrames, TakesEachFramesDoseOff) {
  const std::vector<float> offsets = {100, 200, 300};
  FlatFrames flat(offsets, 10);
  for (int k = 0; k < 10; ++k) {
    const int dose = k < 5 ? 1000 : 2000 + 100 * k;
    flat.Add(std::vector<uint16_t>{static_cast<uint16_t>(100 + dose), uint16_t(200 + 2 * dose),
                                   uint16_t(300 + dose / 2)});
  }
  EXPECT_NEAR(flat.statistics().Mean(1), 2, 1e-6);
  EXPECT_NEAR(flat.statistics().Mean(2), 0.5, 1e-6);
  EXPECT_NEAR(flat.Level(), 2700, 1e-9);
  EXPECT_EQ(flat.SaturatedShare(), 0);
}

}  // namespace
}  // namespace isocenter::calibrate
