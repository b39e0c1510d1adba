// A computed frame against a measured one.
#include "kernels/calibrate/registration/frame_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace isocenter::calibrate {
namespace {

constexpr int kColumns = 48, kRows = 36;

// Two blobs, `scale` times, with their places moved.
std::vector<float> Blobs(double scale, double u, double v) {
  std::vector<float> image;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const auto blob = [&](double at_u, double at_v, double width) {
        const double square = std::pow(column - at_u - u, 2) + std::pow(row - at_v - v, 2);
        return std::exp(-square / (2 * width * width));
      };
      image.push_back(static_cast<float>(scale * (blob(20, 15, 4) + 0.6 * blob(30, 21, 3))));
    }
  }
  return image;
}

EdgeImage Edges(const std::vector<float>& image) { return EdgesOf(image, kColumns, kRows, 1.2); }

const std::vector<uint8_t> kAll(kColumns* kRows, 1);

TEST(GradientCorrelation, IsOneForOtherHounsfieldUnits) {
  std::vector<float> brighter = Blobs(1.7, 0, 0);
  for (float& line : brighter) line += 3;
  EXPECT_NEAR(GradientCorrelation(Edges(Blobs(1, 0, 0)), Edges(brighter), kAll), 1, 1e-5);
}

TEST(GradientCorrelation, FallsWithDistanceAndIsNothingWithoutPixels) {
  const EdgeImage here = Edges(Blobs(1, 0, 0));
  const double near = GradientCorrelation(here, Edges(Blobs(1, 1, 0)), kAll);
  const double far = GradientCorrelation(here, Edges(Blobs(1, 4, 0)), kAll);
  EXPECT_LT(near, 0.99);
  EXPECT_LT(far, near);
  EXPECT_EQ(GradientCorrelation(here, here, std::vector<uint8_t>(kAll.size(), 0)), 0);
}

TEST(Compare, TellsAShiftBesideAScale) {
  const EdgeImage computed = Edges(Blobs(1, 0, 0));
  const EdgeImage measured = Edges(Blobs(1.3, 0.3, -0.2));
  const NormalEquations equations =
      Compare(measured, computed, ChangesByShift(computed), WellInside(kAll, kColumns, kRows, 1.2));
  const std::vector<double> shift = Solve(equations.matrix, equations.right, 0);
  EXPECT_NEAR(shift[0], 0.3, 0.02);
  EXPECT_NEAR(shift[1], -0.2, 0.02);
}

// A clip that was not there before, over a hundredth of the pixels: one step of several.
TEST(Compare, IsNotLedAstrayByWhatHasChanged) {
  std::vector<float> changed = Blobs(1, 0.3, -0.2);
  for (int row = 12; row < 16; ++row) {
    for (int column = 24; column < 28; ++column) changed[row * kColumns + column] += 2;
  }
  const EdgeImage computed = Edges(Blobs(1, 0, 0));
  const NormalEquations equations = Compare(Edges(changed), computed, ChangesByShift(computed),
                                            WellInside(kAll, kColumns, kRows, 1.2));
  const std::vector<double> shift = Solve(equations.matrix, equations.right, 0);
  EXPECT_NEAR(shift[0], 0.3, 0.3);
  EXPECT_NEAR(shift[1], -0.2, 0.3);
}

TEST(Compare, SaysNothingOfFramesWithoutEdges) {
  const EdgeImage flat = Edges(std::vector<float>(kAll.size(), 2));
  const NormalEquations equations =
      Compare(Edges(Blobs(1, 0, 0)), flat, ChangesByShift(flat), kAll);
  EXPECT_EQ(equations.matrix, std::vector<double>(4, 0.0));
  EXPECT_EQ(Solve(equations.matrix, equations.right, 0), std::vector<double>(2, 0.0));
}

// Three sigmas and the pixel that derivatives need.
TEST(WellInside, LeavesBordersOut) {
  const std::vector<uint8_t> inside = WellInside(kAll, kColumns, kRows, 1);
  EXPECT_EQ(std::count(inside.begin(), inside.end(), 1), (kColumns - 8) * (kRows - 8));
  EXPECT_EQ(inside[4 * kColumns + 4], 1);
  EXPECT_EQ(inside[3 * kColumns + 4], 0);
  std::vector<uint8_t> hole = kAll;
  hole[18 * kColumns + 24] = 0;
  const std::vector<uint8_t> around = WellInside(hole, kColumns, kRows, 1);
  EXPECT_EQ(around[18 * kColumns + 28], 0);
  EXPECT_EQ(around[18 * kColumns + 29], 1);
}

}  // namespace
}  // namespace isocenter::calibrate
