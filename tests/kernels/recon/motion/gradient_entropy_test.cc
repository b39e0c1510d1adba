#include "kernels/recon/motion/gradient_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace isocenter::recon {
namespace {

constexpr Shape3 kShape{5, 6, 7};

struct Trial {
  std::vector<float> volume = std::vector<float>(kShape.count());
  std::vector<uint8_t> counted = std::vector<uint8_t>(kShape.count(), 1);
  std::vector<float> slopes = std::vector<float>(kShape.count());

  Trial() {
    std::mt19937 random(3);
    for (float& value : volume) value = static_cast<float>(random() % 1000) / 1000;
    for (size_t i = 0; i < counted.size(); i += 5) counted[i] = 0;
  }
  double Entropy(double soft, int threads = 2) {
    ThreadPool pool(threads);
    return GradientEntropy({volume.data(), kShape}, counted, soft, pool, {slopes.data(), kShape});
  }
};

TEST(GradientEntropy, SlopesAreItsDerivatives) {
  Trial trial;
  trial.Entropy(0.1);
  const std::vector<float> slopes = trial.slopes;
  for (size_t i = 0; i < slopes.size(); ++i) {
    const float before = trial.volume[i];
    constexpr float kStep = 2e-3f;
    trial.volume[i] = before + kStep;
    const double more = trial.Entropy(0.1);
    trial.volume[i] = before - kStep;
    const double less = trial.Entropy(0.1);
    trial.volume[i] = before;
    // Steps bend the function by a millionth, gradients are of float32.
    EXPECT_NEAR(slopes[i], (more - less) / (2 * kStep), 1e-4) << i;
  }
}

TEST(GradientEntropy, IsThatOfTheCountedGradients) {
  // Of n equal gradients it is ln n.
  Trial trial;
  std::fill(trial.volume.begin(), trial.volume.end(), 0.5f);
  std::fill(trial.counted.begin(), trial.counted.end(), 0);
  for (const size_t voxel : {0, 1, 8, 50}) trial.counted[voxel] = 1;
  EXPECT_NEAR(trial.Entropy(0.1), std::log(4.0), 1e-6);
  // A volume that nothing counts of is as sharp as any.
  std::fill(trial.counted.begin(), trial.counted.end(), 0);
  EXPECT_EQ(trial.Entropy(0.1), 0);
  for (const float slope : trial.slopes) EXPECT_EQ(slope, 0);
}

TEST(GradientEntropy, IsTheSameForAnyNumberOfThreadsAndForAFactor) {
  Trial one, three, twice;
  const double entropy = one.Entropy(0.1, 1);
  EXPECT_EQ(three.Entropy(0.1, 3), entropy);
  EXPECT_EQ(three.slopes, one.slopes);
  for (float& value : twice.volume) value *= 2;
  EXPECT_NEAR(twice.Entropy(0.2), entropy, 1e-6);
}

// An edge that is seen twice, as by frames of an object that moved, is not as sharp.
TEST(GradientEntropy, IsSmallerOfOneEdgeThanOfTwoHalfOnes) {
  Trial sharp, twice;
  for (int64_t i = 0; i < kShape.count(); ++i) {
    const int64_t x = i % kShape.fast;
    sharp.volume[i] = x < 3 ? 0.f : 1.f;
    twice.volume[i] = x < 2 ? 0.f : x < 4 ? 0.5f : 1.f;
  }
  EXPECT_LT(sharp.Entropy(0.01), twice.Entropy(0.01) - 0.3);
}

}  // namespace
}  // namespace isocenter::recon
