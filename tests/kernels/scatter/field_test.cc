#include "kernels/scatter/field.h"

#include <gtest/gtest.h>

#include <vector>

namespace isocenter::scatter {
namespace {

TEST(SampledFrames, AreEvenAndHaveBothEnds) {
  EXPECT_EQ(SampledFrames(3, 11), std::vector<int>({0, 5, 10}));
  EXPECT_EQ(SampledFrames(5, 3), std::vector<int>({0, 1, 2}));
  EXPECT_EQ(SampledFrames(4, 1), std::vector<int>({0}));
}

TEST(Smooth, KeepsSlopesAndCurvaturesInsideAndTakesNoise) {
  constexpr int kColumns = 41, kRows = 31;
  std::vector<double> curved, noise;
  for (int j = 0; j < kRows; ++j) {
    for (int i = 0; i < kColumns; ++i) {
      curved.push_back(2000 + 3 * i - j + 0.5 * i * i + 0.2 * j * j);
      noise.push_back((i * 7 + j * 5) % 2 == 0 ? 3 : 1);
    }
  }
  const std::vector<double> expected = curved;
  Smooth(kColumns, kRows, curved);
  Smooth(kColumns, kRows, noise);
  const int middle = 15 * kColumns + 20;
  EXPECT_NEAR(curved[middle], expected[middle], 1e-9);
  EXPECT_NEAR(noise[middle], 2, 1e-3);
  std::vector<double> below = {-4, -4, -4, -4};
  Smooth(2, 2, below);
  EXPECT_EQ(below, std::vector<double>(4, 0));
}

TEST(CellsAt, IsLinearBetweenSampledFrames) {
  const std::vector<int> sampled = {0, 4, 10};
  const std::vector<std::vector<double>> images = {{1, 10}, {5, 20}, {-1, 50}};
  EXPECT_EQ(CellsAt(0, sampled, images), images[0]);
  EXPECT_EQ(CellsAt(1, sampled, images), std::vector<double>({2, 12.5}));
  EXPECT_EQ(CellsAt(7, sampled, images), std::vector<double>({2, 35}));
  EXPECT_EQ(CellsAt(10, sampled, images), images[2]);
}

}  // namespace
}  // namespace isocenter::scatter
