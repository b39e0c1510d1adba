#include "kernels/calibrate/robust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/calibrate/local_median.h"
#include "kernels/phantom/generator.h"

namespace isocenter::calibrate {
namespace {

TEST(Robust, MedianAndSigmaOfNormalValuesAreNotMovedByOutliers) {
  phantom::Generator draws(3);
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) values.push_back(5 + 2 * draws.Normal());
  for (int i = 0; i < 1000; ++i) values[i] = 1e6;
  // 5 % of outliers on one side move the median by 0.066 σ, the deviation by 6 %.
  EXPECT_NEAR(Median(values), 5, 0.2);
  EXPECT_NEAR(RobustSigma(values), 2, 0.2);
  EXPECT_EQ(Median({3, 1, 2}), 2);
}

TEST(Robust, ThinnedKeepsFewEnough) {
  const std::vector<float> values(1000, 1.0f);
  EXPECT_EQ(Thinned(values, 1000).size(), 1000);
  EXPECT_EQ(Thinned(values, 999).size(), 500);
}

// 20 x 20 dead pixels fill most of a tile; a slope is followed between the centers of tiles.
TEST(LocalMedian, FollowsASlopeAndSeesNoDefect) {
  const Detector detector{.columns = 203, .rows = 150, .pitch_u_mm = 1, .pitch_v_mm = 1};
  std::vector<float> map(203 * 150);
  for (int v = 0; v < 150; ++v) {
    for (int u = 0; u < 203; ++u) map[v * 203 + u] = 1000.0f + 2 * u;
  }
  for (int v = 66; v < 92; ++v) {
    for (int u = 66; u < 92; ++u) map[v * 203 + u] = 0;
  }
  const std::vector<float> local = LocalMedian(map, detector);
  for (const int u : {60, 80, 100, 120}) {
    EXPECT_NEAR(local[75 * 203 + u], 1000 + 2 * u, 8) << u;
  }
}

TEST(LocalMedian, WorksOnDetectorsSmallerThanATile) {
  const Detector detector{.columns = 3, .rows = 2, .pitch_u_mm = 1, .pitch_v_mm = 1};
  EXPECT_THAT(LocalMedian(std::vector<float>{1, 2, 2, 2, 2, 9}, detector), testing::Each(2.0f));
}

}  // namespace
}  // namespace isocenter::calibrate
