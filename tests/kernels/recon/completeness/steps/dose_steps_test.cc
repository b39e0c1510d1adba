#include "kernels/recon/completeness/steps/dose_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Of a scan whose frames have such doses, and tell them or not.
std::string Told(EllipseScan scan, const std::function<double(int view)>& dose,
                 bool tells = false) {
  DoseSteps steps(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) {
    for (uint16_t& count : scan.frames[view]) {
      count = static_cast<uint16_t>(std::min(65535L, std::lround(count * dose(view))));
    }
    steps.Add(view, scan.Rows(view), tells ? dose(view) : 0);
  }
  return steps.Text().value_or("");
}

double ThirdIsDimmer(int view) { return view >= 40 && view < 80 ? 0.9 : 1; }

TEST(DoseSteps, OfATenthInAThirdOfTheFramesAreTold) {
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01), ThirdIsDimmer),
              HasSubstr("at once at frame 80 (the largest of 2 such steps)"));
  EXPECT_THAT(Told(EllipseScan(120, 360, {}, 0.01), ThirdIsDimmer), HasSubstr("2 such steps"));
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01), [](int view) { return view < 60 ? 1 : 1.15; }),
              HasSubstr("fall by 0.140 at once at frame 60, as where the dose is 15.0 % higher"));
}

TEST(DoseSteps, OfFramesThatTellThemAreNone) {
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01), ThirdIsDimmer, true), IsEmpty());
}

// A trunk across the whole detector, whose thickness is another from every side.
TEST(DoseSteps, AWideObjectThatTurnsIsNone) {
  const EllipticBody trunk{.a_mm = 190, .b_mm = 110, .x_mm = 10, .y_mm = 5};
  const auto even = [](int) { return 1.0; };
  for (const int views : {60, 120, 496}) {
    EXPECT_THAT(Told(EllipseScan(views, 200, trunk, 0.01), even), IsEmpty()) << views;
    EXPECT_THAT(Told(EllipseScan(views, 360, trunk, 0), even), IsEmpty()) << views;
  }
  EXPECT_THAT(Told(EllipseScan(120, 200, trunk, 0.01), ThirdIsDimmer), HasSubstr("such steps"));
}

TEST(DoseSteps, FlickerAndSlowChangesAreNone) {
  for (const double flicker : {0.02, 0.1}) {
    auto random = std::make_shared<std::mt19937>(3);
    EXPECT_THAT(
        Told(EllipseScan(496, 200, {}, 0.01),
             [&](int) { return 1 + std::normal_distribution<double>(0, flicker)(*random); }),
        IsEmpty())
        << flicker;
  }
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01), [](int view) { return 1 - 0.004 * view; }),
              IsEmpty());
  // One frame alone.
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01), [](int view) { return view == 50 ? 0.8 : 1; }),
              IsEmpty());
}

TEST(DoseSteps, FramesThatAreFarApartAreNotCompared) {
  EXPECT_THAT(Told(EllipseScan(30, 200, {}, 0.01), ThirdIsDimmer), IsEmpty());
}

}  // namespace
}  // namespace isocenter::recon
