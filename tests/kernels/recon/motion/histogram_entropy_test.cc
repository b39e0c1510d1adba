#include "kernels/recon/motion/histogram_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace isocenter::recon {
namespace {

constexpr Shape3 kShape{5, 6, 7};
constexpr HistogramBins kBins{.least = 0, .width = 0.1, .count = 10};

struct Trial {
  std::vector<float> volume = std::vector<float>(kShape.count());
  std::vector<uint8_t> counted = std::vector<uint8_t>(kShape.count(), 1);
  std::vector<float> slopes = std::vector<float>(kShape.count());

  Trial() {
    std::mt19937 random(3);
    for (float& value : volume) value = static_cast<float>(random() % 1200) / 1000 - 0.1f;
    for (size_t i = 0; i < counted.size(); i += 5) counted[i] = 0;
  }
  double Entropy(const HistogramBins& bins = kBins, int threads = 2) {
    ThreadPool pool(threads);
    return HistogramEntropy({volume.data(), kShape}, counted, bins, pool, {slopes.data(), kShape});
  }
};

TEST(HistogramEntropy, SlopesAreItsDerivatives) {
  Trial trial;
  trial.Entropy();
  const std::vector<float> slopes = trial.slopes;
  int moved = 0;
  for (size_t i = 0; i < slopes.size(); ++i) {
    const float before = trial.volume[i];
    // What is at the end of the histogram has a derivative on one side only.
    if (std::abs(before - 0.05f) < 0.01f || std::abs(before - 0.95f) < 0.01f) continue;
    constexpr float kStep = 2e-4f;
    trial.volume[i] = before + kStep;
    const double more = trial.Entropy();
    trial.volume[i] = before - kStep;
    const double less = trial.Entropy();
    trial.volume[i] = before;
    EXPECT_NEAR(slopes[i], (more - less) / (2 * kStep), 2e-4) << i;
    moved += slopes[i] != 0 ? 1 : 0;
  }
  EXPECT_GT(moved, 100);
}

TEST(HistogramEntropy, IsThatOfTheCountedValues) {
  // Of a value on a bin's centre three quarters are in it, an eighth in each beside it.
  const double one = -0.75 * std::log(0.75) - 0.25 * std::log(0.125);
  Trial trial;
  std::fill(trial.volume.begin(), trial.volume.end(), 0.55f);
  EXPECT_NEAR(trial.Entropy(), one, 1e-6);
  // Of two values far apart, half of the voxels each, it is by ln 2 more.
  std::fill(trial.counted.begin(), trial.counted.end(), 0);
  for (const size_t voxel : {0, 1, 8, 50}) trial.counted[voxel] = 1;
  trial.volume[8] = trial.volume[50] = 0.15f;
  EXPECT_NEAR(trial.Entropy(), one + std::log(2.0), 1e-6);
  // A volume that nothing counts of is as sharp as any.
  std::fill(trial.counted.begin(), trial.counted.end(), 0);
  EXPECT_EQ(trial.Entropy(), 0);
  for (const float slope : trial.slopes) EXPECT_EQ(slope, 0);
}

TEST(HistogramEntropy, HoldsWhatIsBeyondItsEnds) {
  Trial trial, ends;
  std::fill(trial.volume.begin(), trial.volume.end(), -7.f);
  trial.volume[1] = 1e30f;
  for (float& value : ends.volume) value = 0;
  ends.volume[1] = 1;
  EXPECT_EQ(trial.Entropy(), ends.Entropy());
  for (const float slope : trial.slopes) EXPECT_EQ(slope, 0);
}

TEST(HistogramEntropy, IsTheSameForAnyNumberOfThreadsAndForAFactor) {
  Trial one, three, twice;
  const double entropy = one.Entropy(kBins, 1);
  EXPECT_EQ(three.Entropy(kBins, 3), entropy);
  EXPECT_EQ(three.slopes, one.slopes);
  for (float& value : twice.volume) value *= 2;
  EXPECT_NEAR(twice.Entropy({.least = 0, .width = 0.2, .count = 10}), entropy, 1e-5);
}

// An edge that is seen twice, as by frames of an object that moved, is not as sharp.
TEST(HistogramEntropy, IsSmallerOfOneEdgeThanOfTwoHalfOnes) {
  Trial sharp, twice;
  for (int64_t i = 0; i < kShape.count(); ++i) {
    const int64_t x = i % kShape.fast;
    sharp.volume[i] = x < 3 ? 0.15f : 0.85f;
    twice.volume[i] = x < 2 ? 0.15f : x < 4 ? 0.5f : 0.85f;
  }
  EXPECT_LT(sharp.Entropy(), twice.Entropy() - 0.3);
}

}  // namespace
}  // namespace isocenter::recon
