#include "kernels/recon/completeness/steps/still_pixels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kColumns = 256, kRows = 16;

std::string Told(const EllipseScan& scan) {
  StillPixels pixels(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) pixels.Add(view, scan.Rows(view));
  return pixels.Text().value_or("");
}

/// Columns [first, last) of rows from `row` on show in all frames what they show in the first.
void Freeze(EllipseScan& scan, int first, int last, int row) {
  for (auto& frame : scan.frames) {
    for (int v = row; v < kRows; ++v) {
      for (int u = first; u < last; ++u) {
        frame[v * kColumns + u] = scan.frames[0][v * kColumns + u];
      }
    }
  }
}

TEST(StillPixels, ATileThatStandsStillIsToldWithItsPlace) {
  for (const double noise : {0.005, 0.02, 0.2}) {
    EllipseScan scan(60, 200, {}, noise);
    EXPECT_EQ(Told(scan), "") << noise;
    Freeze(scan, 120, 136, 12);
    // But for neighbours that happen to have one value.
    EXPECT_THAT(Told(scan), AllOf(HasSubstr("6"), HasSubstr(" of 4096 pixels that were looked at "
                                                            "have one value each in all views "
                                                            "(column,row: 120,12, 121,12, 122,12, "
                                                            "…)")))
        << noise;
  }
}

TEST(StillPixels, ColumnsInAirAreToldToo) {
  EllipseScan scan(60, 200, {}, 0.01);
  Freeze(scan, 2, 4, 0);
  EXPECT_THAT(Told(scan), HasSubstr("32 of 4096 pixels"));
}

TEST(StillPixels, WithoutNoiseGoodScansStandStill) {
  constexpr EllipticBody kRound = {.a_mm = 60, .b_mm = 60, .x_mm = 0, .y_mm = 0};
  for (const EllipticBody& body : {EllipticBody{}, kRound}) {
    EllipseScan scan(60, 200, body, 0);
    // Gains: air stands still at another value in each pixel.
    for (auto& frame : scan.frames) {
      for (size_t i = 0; i < frame.size(); ++i) frame[i] -= static_cast<uint16_t>(i * 37 % 400);
    }
    EXPECT_EQ(Told(scan), "");
  }
}

TEST(StillPixels, WhatAConsoleFillsInOrTheSetKnowsIsNotTold) {
  EllipseScan scan(60, 200, {}, 0.02);
  for (auto& frame : scan.frames) {
    for (int v = 0; v < kRows; ++v) {
      for (int u = 0; u < 20; ++u) frame[v * kColumns + u] = v % 2 == 0 ? 200 : 0;
      frame[v * kColumns + 30] = 65535;
    }
  }
  EXPECT_EQ(Told(scan), "");
  Freeze(scan, 120, 124, 0);
  EXPECT_THAT(Told(scan), HasSubstr("64 of 4096 pixels"));
  auto set = std::make_shared<ops::Calibration>();
  for (int v = 0; v < kRows; ++v) {
    for (int u = 120; u < 124; ++u) set->defects.pixels.push_back(v * kColumns + u);
  }
  scan.acquisition.calibration = set;
  EXPECT_EQ(Told(scan), "");
}

TEST(StillPixels, AScanThatStandsStillIsNoPixelsFault) {
  EllipseScan scan(60, 200, {}, 0.02);
  for (int view = 1; view < 60; ++view) scan.frames[view] = scan.frames[0];
  EXPECT_EQ(Told(scan), "");
}

}  // namespace
}  // namespace isocenter::recon
