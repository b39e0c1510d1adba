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

TEST(Smooth, KeepsASlopeInsideAndAConstant) {
  std::vector<double> cells = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
  Smooth(4, 3, cells);
  EXPECT_DOUBLE_EQ(cells[5], 2);
  EXPECT_DOUBLE_EQ(cells[4], 1.25);
  std::vector<double> peak = {0, 0, 0, 0, 16, 0, 0, 0, 0};
  Smooth(3, 3, peak);
  EXPECT_EQ(peak, std::vector<double>({1, 2, 1, 2, 4, 2, 1, 2, 1}));
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
