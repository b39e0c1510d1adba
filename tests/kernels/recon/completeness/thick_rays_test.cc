#include "kernels/recon/completeness/thick_rays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/calibrate/coarse_frame.h"
#include "kernels/calibrate/scatter/scatter_fit.h"
#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kMu = 0.02;  // of EllipseScan's water

/// A set for which water attenuates as EllipseScan's does.
ops::Calibration SetUpTo(double water_mm, const EllipseScan& scan) {
  ops::Calibration set{.name = "monthly", .detector = scan.acquisition.detector};
  const size_t pixels = size_t{256} * 16;
  set.response.emplace();
  set.response->offset_counts.assign(pixels, 0);
  set.response->air_counts.assign(pixels, 50000);
  set.water = {.coefficient = {1}, .thickest_mm = water_mm};
  set.mu_water_per_mm = kMu;
  return set;
}

std::string Said(EllipseScan& scan, ops::Calibration set, double dose = 1) {
  scan.acquisition.calibration = std::make_shared<const ops::Calibration>(std::move(set));
  ThickRays rays(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) rays.Add(view, scan.Rows(view), dose);
  return rays.Text().value_or("");
}

EllipseScan Cylinder(double diameter_mm, double noise = 0.02) {
  const double radius = diameter_mm / 2;
  return EllipseScan(40, 200, {.a_mm = radius, .b_mm = radius, .x_mm = 0, .y_mm = 0}, noise);
}

TEST(ThickRays, WhatTheSetWasMeasuredWithIsNotTold) {
  EllipseScan scan = Cylinder(200);
  EXPECT_EQ(Said(scan, SetUpTo(200, scan)), "");
  EXPECT_EQ(Said(scan, SetUpTo(170, scan)), "") << "a polynomial goes on well for a quarter of it";
}

TEST(ThickRays, AThickerPatientIsToldWithTheValueAndTheRange) {
  EllipseScan scan = Cylinder(200);
  EXPECT_THAT(Said(scan, SetUpTo(120, scan)),
              AllOf(HasSubstr("thicker than calibration 'monthly' was measured with"),
                    HasSubstr("beyond 1.25 times the range of its beam hardening (120 mm of water; "
                              "here up to 200 mm)"),
                    HasSubstr("legal is a set of thicker water")));
}

TEST(ThickRays, AFewThickRaysAreNone) {
  // 3 of 256 columns are beyond.
  EllipseScan scan = Cylinder(100, 0);
  for (auto& frame : scan.frames) {
    for (size_t i = 128; i < frame.size(); i += 256) std::fill_n(&frame[i], 3, uint16_t{20});
  }
  EXPECT_EQ(Said(scan, SetUpTo(100, scan)), "");
}

TEST(ThickRays, ASetThatKnowsNoRangeTellsNothing) {
  EllipseScan scan = Cylinder(200);
  EXPECT_EQ(Said(scan, SetUpTo(0, scan)), "");
  ops::Calibration none = SetUpTo(50, scan);
  none.water = {};
  none.mu_water_per_mm = 0;
  EXPECT_EQ(Said(scan, none), "");
}

TEST(ThickRays, DosesThatAreNotToldAreReadFromTheAir) {
  EllipseScan scan = Cylinder(200, 0);
  for (auto& frame : scan.frames) {
    // As 26 mm of water more.
    for (uint16_t& count : frame) count = static_cast<uint16_t>(0.6 * count);
  }
  ops::Calibration set = SetUpTo(168, scan);
  set.air.columns = 16;
  EXPECT_EQ(Said(scan, set, 0), "") << "200 mm, below 1.25 times 168";
  set.air.columns = 0;
  EXPECT_NE(Said(scan, set, 0), "") << "taken for a dose of 1, 226 mm";
}

// Filters that harden the outer columns count as water in front of them.
TEST(ThickRays, HardnessIsPartOfTheThickness) {
  EllipseScan scan = Cylinder(200);
  ops::Calibration set = SetUpTo(170, scan);
  set.water.hardness.assign(256, 2);  // 100 mm
  EXPECT_THAT(Said(scan, set), HasSubstr("here up to 300 mm"));
  set.water.thickest_mm = 300;
  EXPECT_EQ(Said(scan, set), "");
}

/// Scatter of the kernels is added to the primary of each view, which takes thickness away.
void AddScatter(const ops::ScatterKernels& kernels, EllipseScan& scan) {
  const Detector& detector = scan.acquisition.detector;
  const calibrate::CoarseShape shape(detector);
  for (auto& frame : scan.frames) {
    std::vector<float> primary(frame.begin(), frame.end());
    for (float& value : primary) value /= 50000;
    const std::vector<double> scatter =
        calibrate::PredictScatter(kernels, shape, calibrate::BlockMeans(primary, detector));
    for (size_t i = 0; i < frame.size(); ++i) {
      frame[i] = static_cast<uint16_t>(frame[i] + 50000 * scatter[i % 256 / 16]);
    }
  }
}

TEST(ThickRays, ScatterIsTakenOffFirst) {
  const ops::ScatterKernels kernels{.groups = {{.amplitude = 0.1,
                                                .alpha = 0.4,
                                                .beta = 1,
                                                .narrow_sigma_mm = 20,
                                                .wide_sigma_mm = 40,
                                                .wide_share = 0.5}},
                                    .mu_water_per_mm = kMu,
                                    .thickest_mm = 140};
  EllipseScan scan = Cylinder(200, 0);
  AddScatter(kernels, scan);
  ops::Calibration set = SetUpTo(150, scan);
  EXPECT_EQ(Said(scan, set), "") << "scatter makes the middle seem thinner than 187 mm";
  set.scatter = kernels;
  const std::string said = Said(scan, set);
  EXPECT_THAT(said, AllOf(HasSubstr("beyond 1.25 times the range of its beam hardening (150 mm"),
                          HasSubstr("beyond 1.1 times the range of its scatter kernels (140 mm")));
  set.water.thickest_mm = 200;
  set.scatter->thickest_mm = 190;
  EXPECT_EQ(Said(scan, set), "");
}

TEST(ThickRays, LineIntegralsHaveNoSet) {
  EllipseScan scan = Cylinder(200);
  scan.acquisition.pixel_type = PixelType::kFloat32LineIntegrals;
  ThickRays rays(scan.acquisition);
  EXPECT_EQ(rays.Text(), std::nullopt);
}

}  // namespace
}  // namespace isocenter::recon
