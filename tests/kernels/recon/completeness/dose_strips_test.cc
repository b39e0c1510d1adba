#include "kernels/recon/completeness/dose_strips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNoise = 0.02;

/// A scan whose set reads doses from 32 columns at either side: 30 mm of the 240 that are seen.
EllipseScan WithStrips(const EllipticBody& body, double noise = kNoise) {
  EllipseScan scan(60, 200, body, noise);
  auto calibration = std::make_shared<ops::Calibration>();
  const size_t pixels = size_t{256} * 16;
  calibration->detector = scan.acquisition.detector;
  calibration->response.emplace();
  calibration->response->offset_counts.assign(pixels, 0);
  calibration->response->air_counts.assign(pixels, 50000);
  calibration->air.columns = 32;
  scan.acquisition.calibration = std::move(calibration);
  return scan;
}

std::string Said(const EllipseScan& scan, double dose = 0) {
  DoseStrips strips(scan.acquisition);
  int said = 0;
  for (int view = 0; view < scan.views(); ++view) said += strips.Add(scan.Rows(view), dose) ? 1 : 0;
  EXPECT_LE(said, 1);
  return said == 0 ? "" : strips.Text();
}

TEST(DoseStrips, AirAtBothSidesOrAtOneIsAir) {
  EXPECT_EQ(Said(WithStrips({})), "");
  EXPECT_EQ(Said(WithStrips({}, 0)), "");
  EXPECT_EQ(Said(WithStrips({.a_mm = 80, .b_mm = 60, .x_mm = 45, .y_mm = 0})), "");
  // Strips that the skin reaches in part, as the outermost places are air.
  EXPECT_EQ(Said(WithStrips({.a_mm = 98, .b_mm = 96, .x_mm = 0, .y_mm = 0})), "");
}

TEST(DoseStrips, ATubeThatFlickersIsNoShadow) {
  EllipseScan scan = WithStrips({});
  for (int view = 0; view < scan.views(); ++view) {
    const double dose = view % 2 == 0 ? 0.8 : 1.2;
    for (uint16_t& count : scan.frames[view]) count = static_cast<uint16_t>(count * dose);
  }
  EXPECT_EQ(Said(scan), "");
}

TEST(DoseStrips, PixelsThatAreStuckAreNoShadow) {
  EllipseScan scan = WithStrips({});
  for (auto& frame : scan.frames) frame[3 * 256 + 20] = frame[9 * 256 + 250] = 65535;
  EXPECT_EQ(Said(scan), "");
  // Nor are known ones, however many.
  auto set = std::make_shared<ops::Calibration>(*scan.acquisition.calibration);
  for (int v = 0; v < 16; ++v) {
    for (const int u : {3, 250}) {
      set->defects.pixels.push_back(v * 256 + u);
      for (auto& frame : scan.frames) frame[v * 256 + u] = 65535;
    }
  }
  scan.acquisition.calibration = std::move(set);
  EXPECT_EQ(Said(scan), "");
}

TEST(DoseStrips, AnObjectThatReachesAllOfThemIsToldOf) {
  for (const double noise : {0.0, kNoise}) {
    const EllipseScan scan = WithStrips({.a_mm = 112, .b_mm = 112, .x_mm = 0, .y_mm = 0}, noise);
    EXPECT_THAT(Said(scan),
                AllOf(HasSubstr("in 60 views or more the object reaches the 32 columns"),
                      HasSubstr("they do not tell a dose")))
        << noise;
    EXPECT_EQ(Said(scan, 1.0), "") << "the frames tell it";
  }
  // In a few views only: an elongated body.
  EXPECT_NE(Said(WithStrips({.a_mm = 112, .b_mm = 70, .x_mm = 0, .y_mm = 0})), "");
}

TEST(DoseStrips, WhereNothingIsAsBrightAsALegalDoseNoneIsRead) {
  EXPECT_THAT(Said(WithStrips({.a_mm = 200, .b_mm = 180, .x_mm = 0, .y_mm = 0})),
              HasSubstr("beyond 0.5 to 2 they are taken to be 1"));
}

TEST(DoseStrips, ADoseBelowTheLegalOneIsNoObject) {
  EllipseScan scan = WithStrips({});
  for (auto& frame : scan.frames) {
    for (uint16_t& count : frame) count = static_cast<uint16_t>(0.4 * count);
  }
  EXPECT_THAT(Said(scan), AllOf(HasSubstr("are flat, as air is, and read doses of 0.4"),
                                HasSubstr("the dose is another one than the calibration's")));
}

TEST(DoseStrips, WithoutStripsOrCountsThereIsNothingToSay) {
  EllipseScan scan = WithStrips({.a_mm = 112, .b_mm = 112, .x_mm = 0, .y_mm = 0});
  scan.acquisition.calibration = nullptr;
  EXPECT_EQ(Said(scan), "");
}

}  // namespace
}  // namespace isocenter::recon
