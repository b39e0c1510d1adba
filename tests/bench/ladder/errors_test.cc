#include "tests/bench/ladder/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace isocenter::bench {
namespace {

TEST(ErrorOf, IsInHounsfieldUnits) {
  const std::vector<float> truth{0.01f, 0.02f, 0.03f, 0.f};
  const std::vector<float> volume{0.01f, 0.02002f, 0.03f, -0.00004f};
  const VolumeError error = ErrorOf(volume, truth, 50000);
  EXPECT_NEAR(error.mean_square_hu, (1 + 4) / 4.0, 1e-3);
  EXPECT_NEAR(error.largest_hu, 2, 1e-3);
  EXPECT_EQ(error.other_integers, 0.5);
}

TEST(ErrorOf, NotANumberIsNoSmallError) {
  const std::vector<float> truth{1, 1}, volume{NAN, 1};
  EXPECT_TRUE(std::isnan(ErrorOf(volume, truth, 1).mean_square_hu));
}

}  // namespace
}  // namespace isocenter::bench
