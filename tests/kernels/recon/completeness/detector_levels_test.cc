#include "kernels/recon/completeness/detector_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

/// What is said of a view's counts as `change` makes them.
std::string Said(double noise, double i0, const std::function<double(double)>& change) {
  EllipseScan scan(2, 200, {}, noise);
  scan.acquisition.i0_counts = i0;
  for (uint16_t& count : scan.frames[0]) {
    count = static_cast<uint16_t>(std::clamp(std::round(change(count)), 0.0, 65535.0));
  }
  const DetectorLevels levels(scan.acquisition);
  const DetectorLevels::Levels found = levels.Look(scan.Rows(0));
  return levels.Overexposed(found, 0).value_or("") + levels.Silent(found).value_or("");
}

std::string SaidOfLines(const std::function<float(double)>& change) {
  EllipseScan scan(2, 200, {}, 0.02);
  scan.acquisition.pixel_type = PixelType::kFloat32LineIntegrals;
  std::vector<float> lines;
  for (const uint16_t count : scan.frames[0]) {
    lines.push_back(change(std::log(50000.0 / std::max<int>(count, 1))));
  }
  std::vector<FrameRow> rows;
  const int detector_rows = scan.acquisition.detector.rows;
  for (int v = 0; v < detector_rows; ++v) {
    rows.push_back(RowOf(std::as_bytes(std::span(lines)), v, detector_rows));
  }
  const DetectorLevels levels(scan.acquisition);
  const DetectorLevels::Levels found = levels.Look(rows);
  return levels.Overexposed(found, 0).value_or("") + levels.Silent(found).value_or("");
}

TEST(DetectorLevels, AGoodFrameSaysNothing) {
  const auto as_is = [](double count) { return count; };
  EXPECT_EQ(Said(0.02, 50000, as_is), "");
  EXPECT_EQ(Said(0, 50000, as_is), "") << "air that is the same everywhere";
  EXPECT_EQ(Said(0.3, 50000, as_is), "");
  // Half of the air is at the top of the range, by its noise.
  EXPECT_EQ(Said(0.02, 65535, [](double count) { return count * 1.31; }), "");
  EXPECT_EQ(SaidOfLines([](double line) { return static_cast<float>(line); }), "");
}

TEST(DetectorLevels, CountsAboveAirAreOverexposed) {
  EXPECT_THAT(Said(0.02, 40000, [](double count) { return std::min(count, 45000.0); }),
              HasSubstr("saturated at 45000 counts; expected are at most 1 %, and 40000 counts"));
}

// Who takes the full scale for what air reads.
TEST(DetectorLevels, ManyEqualCountsAmongNoisyOnesAreOverexposed) {
  EXPECT_THAT(Said(0.02, 65535, [](double count) { return 2 * count; }),
              HasSubstr("saturated at 65535 counts"));
  EXPECT_THAT(Said(0.02, 16383, [](double count) { return std::min(count, 16383.0); }),
              HasSubstr("saturated at 16383 counts"));
}

TEST(DetectorLevels, AHotPixelHidesNoOverexposure) {
  for (const int hot : {1, 4}) {
    int pixel = 0;
    const auto change = [&](double count) {
      return pixel++ < hot ? 65535 : std::min(2 * count, 60000.0);
    };
    EXPECT_THAT(Said(0.02, 62000, change), HasSubstr("saturated at 60000 counts")) << hot;
  }
  int pixel = 0;
  EXPECT_EQ(Said(0.02, 50000, [&](double count) { return pixel++ == 77 ? 65535 : count; }), "");
}

TEST(DetectorLevels, PixelsThatShowNothingAreTold) {
  EXPECT_THAT(Said(0.02, 50000, [](double count) { return count > 20000 ? count : 0; }),
              HasSubstr("of the detector's pixels show nothing; expected are at most 1 %"));
  EXPECT_EQ(Said(0.02, 50000, [](double) { return 7; }),
            "all pixels of the detector have the same value");
}

TEST(DetectorLevels, LineIntegralsThatAreCutOffAreTold) {
  EXPECT_THAT(SaidOfLines([](double line) { return std::min(static_cast<float>(line), 1.5F); }),
              HasSubstr("of the line integrals are exactly 1.5, the highest of the frame"));
}

}  // namespace
}  // namespace isocenter::recon
