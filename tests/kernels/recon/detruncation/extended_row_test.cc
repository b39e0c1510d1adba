// Rows that go on beyond a detector as a cylinder's do.
#include "kernels/recon/detruncation/extended_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace isocenter::recon {
namespace {

constexpr int kColumns = 100, kPad = 50;
constexpr double kRadius = 70;  // pixels: 20 are beyond either end

double Chord(double x) { return 0.04 * std::sqrt(std::max(0.0, kRadius * kRadius - x * x)); }

std::vector<double> Extended(double aside) {
  std::vector<double> row(kColumns), extended(kColumns + 2 * kPad, -1);
  for (int u = 0; u < kColumns; ++u) row[u] = Chord(u - (kColumns - 1) / 2. - aside);
  ExtendRow(row, extended);
  EXPECT_TRUE(std::equal(row.begin(), row.end(), extended.begin() + kPad));
  return extended;
}

TEST(ExtendedRow, ACylinderGoesOnAsItself) {
  for (const double aside : {0., 10., -15.}) {
    const std::vector<double> extended = Extended(aside);
    for (size_t i = 0; i < extended.size(); ++i) {
      const double x = static_cast<double>(i) - kPad - (kColumns - 1) / 2. - aside;
      EXPECT_NEAR(extended[i], Chord(x), 0.05 * Chord(0)) << "at " << x << ", aside " << aside;
    }
  }
}

TEST(ExtendedRow, EndsInAirAndIsNeverNegative) {
  std::vector<double> row(kColumns, 0), extended(kColumns + 2 * kPad, -1);
  for (int u = 30; u < 70; ++u) row[u] = 1;
  row[0] = -0.01;  // noise of air
  ExtendRow(row, extended);
  for (int i = 0; i < kPad; ++i) {
    EXPECT_EQ(extended[i], 0) << i;
    EXPECT_EQ(extended[kPad + kColumns + i], 0) << i;
  }
}

TEST(ExtendedRow, WithoutRoomBesideItIsTheRow) {
  const std::vector<double> row(kColumns, 2);
  std::vector<double> extended(kColumns);
  ExtendRow(row, extended);
  EXPECT_EQ(extended, row);
}

}  // namespace
}  // namespace isocenter::recon
