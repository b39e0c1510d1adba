#include "kernels/recon/completeness/unknown_defects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kColumns = 256, kRows = 16;

/// A scan and its set: gains that differ by 5 %, offsets, and the defects that the set knows.
struct PanelScan {
  explicit PanelScan(double noise = 0.02, const EllipticBody& body = {}, uint32_t panel = 1)
      : scan(60, 200, body, noise) {
    std::mt19937 random(panel);
    std::normal_distribution<float> gain(1, 0.05F);
    auto set = std::make_shared<ops::Calibration>();
    set->detector = scan.acquisition.detector;
    set->response.emplace();
    for (int i = 0; i < kColumns * kRows; ++i) {
      gains.push_back(std::clamp(gain(random), 0.8F, 1.2F));
      set->response->offset_counts.push_back(100);
      set->response->air_counts.push_back(50000 * gains.back());
    }
    for (auto& frame : scan.frames) {
      for (size_t i = 0; i < frame.size(); ++i) {
        frame[i] = static_cast<uint16_t>(std::min(65535.0F, 100 + frame[i] * gains[i]));
      }
    }
    calibration = set;
    scan.acquisition.calibration = set;
  }
  void Kill(int u, int v, uint16_t count = 0) {
    for (auto& frame : scan.frames) frame[v * kColumns + u] = count;
  }
  std::string Said() const {
    UnknownDefects defects(scan.acquisition);
    for (int view = 0; view < scan.views(); ++view) defects.Add(view, scan.Rows(view));
    return defects.Text().value_or("");
  }

  EllipseScan scan;
  std::vector<float> gains;
  std::shared_ptr<ops::Calibration> calibration;
};

TEST(UnknownDefects, AGoodPanelHasNone) {
  EXPECT_EQ(PanelScan(0).Said(), "");
  EXPECT_EQ(PanelScan(0.02).Said(), "");
  EXPECT_EQ(PanelScan(0.3).Said(), "") << "noise of a dozen photons";
  // What moves over the detector: a rod.
  EXPECT_EQ(PanelScan(0.02, {.a_mm = 1.5, .b_mm = 1.5, .x_mm = 40, .y_mm = 0}).Said(), "");
}

TEST(UnknownDefects, DeadAndStuckPixelsAreToldWithTheirPlaces) {
  PanelScan panel;
  panel.Kill(40, 3);
  EXPECT_EQ(panel.Said(), "") << "of one it is not said";
  panel.Kill(200, 7, 65535);
  EXPECT_THAT(panel.Said(), AllOf(HasSubstr("2 of 4032 pixels that were looked at"),
                                  HasSubstr("(column,row: 40,3, 200,7)")));
}

TEST(UnknownDefects, ALineIsSeenInEveryRow) {
  PanelScan panel;
  for (int v = 0; v < kRows; ++v) {
    panel.Kill(100, v);
    panel.Kill(101, v);
  }
  EXPECT_THAT(panel.Said(), AllOf(HasSubstr("32 of"), HasSubstr("100,0, 101,0, 100,1, …")));
}

TEST(UnknownDefects, WhatTheSetKnowsIsNotTold) {
  PanelScan panel;
  for (const int v : {3, 7, 9}) {
    panel.Kill(40, v);
    panel.calibration->defects.pixels.push_back(v * kColumns + 40);
  }
  EXPECT_EQ(panel.Said(), "");
}

TEST(UnknownDefects, TheSetOfAnotherPanelIsToldOf) {
  PanelScan panel;
  panel.calibration->response = PanelScan(0, {}, 2).calibration->response;
  EXPECT_NE(panel.Said(), "");
}

TEST(UnknownDefects, FramesWithoutASetAreLookedAt) {
  PanelScan panel;
  panel.scan.acquisition.calibration = nullptr;
  EXPECT_THAT(panel.Said(), HasSubstr("and no calibration has them as defects"))
      << "gains that differ by 5 % and are not corrected make rings, too";
  panel.scan = EllipseScan(60, 200, {}, 0.02);
  EXPECT_EQ(panel.Said(), "");
  panel.Kill(40, 3);
  panel.Kill(200, 7);
  EXPECT_THAT(panel.Said(), AllOf(HasSubstr("and no calibration has them as defects (column,row: "
                                            "40,3, 200,7)"),
                                  HasSubstr("--find-defects")));
}

TEST(UnknownDefects, LineIntegralsAreLookedAt) {
  EllipseScan scan(40, 200, {}, 0.02);
  scan.acquisition.pixel_type = PixelType::kFloat32LineIntegrals;
  const auto said = [&](float dead) {
    UnknownDefects defects(scan.acquisition);
    for (int view = 0; view < scan.views(); ++view) {
      std::vector<float> lines;
      for (const uint16_t count : scan.frames[view]) {
        lines.push_back(std::log(50000.0F / std::max<int>(count, 1)));
      }
      for (int v = 0; v < kRows; ++v) lines[v * kColumns + 70] = dead;
      std::vector<FrameRow> rows;
      for (int v = 0; v < kRows; ++v) {
        rows.push_back(RowOf(std::as_bytes(std::span(lines)), v, kRows));
      }
      defects.Add(view, rows);
    }
    return defects.Text().value_or("");
  };
  const std::string column = "16 of 4032 pixels that were looked at";
  EXPECT_THAT(said(12), AllOf(HasSubstr(column), HasSubstr("(column,row: 70,0, 70,1, 70,2, …)")));
  EXPECT_THAT(said(std::nanf("")), HasSubstr(column));
  EXPECT_THAT(said(-1e6F), HasSubstr(column));
}

TEST(UnknownDefects, FewViewsSayNothing) {
  PanelScan panel;
  panel.Kill(40, 3);
  panel.Kill(50, 3);
  UnknownDefects defects(panel.scan.acquisition);
  for (int view = 0; view < UnknownDefects::kLeastViews - 1; ++view) {
    defects.Add(view, panel.scan.Rows(view));
  }
  EXPECT_EQ(defects.Text(), std::nullopt);
}

}  // namespace
}  // namespace isocenter::recon
