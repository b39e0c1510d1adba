#include "kernels/recon/gating/along_cycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace isocenter::recon {
namespace {

using testing::HasSubstr;

constexpr Shape3 kShape{2, 3, 5};

using Cycle = std::vector<std::vector<float>>;  // [phase][voxel]

absl::Status Smooth(Cycle& cycle, double strength) {
  std::vector<HostView3<float>> views;
  for (std::vector<float>& volume : cycle) views.emplace_back(volume.data(), kShape);
  ThreadPool pool(2);
  return SmoothAlongCycle(views, strength, pool);
}

Cycle Filled(const std::vector<float>& of_phases) {
  Cycle cycle;
  for (const float value : of_phases) cycle.emplace_back(kShape.count(), value);
  return cycle;
}

TEST(SmoothAlongCycle, LeavesWhatIsStillAndWithoutStrengthEverything) {
  Cycle still = Filled({40, 40, 40, 40});
  ASSERT_TRUE(Smooth(still, 25).ok());
  for (const auto& volume : still) EXPECT_NEAR(volume[7], 40, 1e-4);
  Cycle moving = Filled({1, -7, 300});
  ASSERT_TRUE(Smooth(moving, 0).ok());
  EXPECT_EQ(moving, Filled({1, -7, 300}));
}

// Each of the two levels gives way by the strength of its two steps, over its phases; that they
// wrap around changes nothing.
TEST(SmoothAlongCycle, StepsLoseWhatIsSaid) {
  for (const int first : {0, 2}) {
    std::vector<float> levels(8, 0.F);
    for (int p = 0; p < 4; ++p) levels[(first + 5 + p) % 8] = 100;
    Cycle cycle = Filled(levels);
    ASSERT_TRUE(Smooth(cycle, 10).ok());
    for (int p = 0; p < 8; ++p) {
      EXPECT_NEAR(cycle[p][11], levels[p] == 0 ? 5 : 95, 0.01) << "phase " << p;
    }
  }
}

TEST(SmoothAlongCycle, MuchStrengthLeavesTheMean) {
  for (const int phases : {2, 8, 50}) {
    std::vector<float> values;
    for (int p = 0; p < phases; ++p) values.push_back(p % 2 == 0 ? 30.F : -10.F);
    Cycle cycle = Filled(values);
    ASSERT_TRUE(Smooth(cycle, 500).ok());
    for (const auto& volume : cycle) EXPECT_NEAR(volume[0], 10, 0.1) << phases << " phases";
  }
}

double Objective(const std::vector<double>& x, const std::vector<float>& y, double strength) {
  double sum = 0;
  for (size_t p = 0; p < x.size(); ++p) {
    sum += 0.5 * (x[p] - y[p]) * (x[p] - y[p]);
    sum += strength * std::abs(x[(p + 1) % x.size()] - x[p]);
  }
  return sum;
}

// No series nearby is better: neither one with other values at some phases nor with a run moved.
TEST(SmoothAlongCycle, IsTheMinimum) {
  std::mt19937 generator(7);
  for (const int phases : {5, 20}) {
    std::vector<float> y;
    for (int p = 0; p < phases; ++p) {
      y.push_back((p < phases / 3 ? 80.F : 0.F) + float(generator() % 1000) * 0.04F);
    }
    Cycle cycle = Filled(y);
    ASSERT_TRUE(Smooth(cycle, 8).ok());
    std::vector<double> x;
    for (const auto& volume : cycle) x.push_back(volume[3]);
    const double least = Objective(x, y, 8);
    EXPECT_LT(least, Objective(std::vector<double>(y.begin(), y.end()), y, 8));
    for (int trial = 0; trial < 4000; ++trial) {
      std::vector<double> other = x;
      const size_t first = generator() % phases, run = 1 + generator() % (phases - 1);
      const double by = (double(generator() % 2001) - 1000) * 1e-3;
      for (size_t i = 0; i < run; ++i) other[(first + i) % phases] += by;
      EXPECT_GT(Objective(other, y, 8), least - 0.05) << phases << " phases, trial " << trial;
    }
  }
}

TEST(SmoothAlongCycle, NamesWhatIsWrong) {
  const auto message = [](Cycle cycle, double strength) {
    return std::string(Smooth(cycle, strength).message());
  };
  EXPECT_THAT(message(Filled({1}), 1), HasSubstr("volumes of a cycle are 1; legal is 2 to 50"));
  EXPECT_THAT(message(Filled({1, 2}), -1), HasSubstr("strength along the cycle is -1 HU"));
  EXPECT_THAT(message(Filled({1, 2}), std::numeric_limits<double>::quiet_NaN()),
              HasSubstr("is nan HU"));
}

}  // namespace
}  // namespace isocenter::recon
