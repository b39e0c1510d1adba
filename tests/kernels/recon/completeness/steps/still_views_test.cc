#include "kernels/recon/completeness/steps/still_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Of a scan in which each view of [first, first + frames) shows what the first does, with noise of
/// its own. `dose_flicker`: standard deviation.
std::string Told(EllipseScan scan, int first, int frames, double noise, double dose_flicker = 0) {
  std::mt19937 random(5);
  std::normal_distribution<double> factor(1, noise), dose(1, dose_flicker);
  StillViews still(scan.acquisition);
  const EllipseScan quiet = scan;
  for (int view = 0; view < scan.views(); ++view) {
    const bool stands = view >= first && view < first + frames;
    const double of_frame = dose_flicker > 0 ? dose(random) : 1;
    for (size_t i = 0; i < scan.frames[view].size(); ++i) {
      const double count = quiet.frames[stands ? first : view][i];
      scan.frames[view][i] =
          static_cast<uint16_t>(std::lround(count * of_frame * (noise > 0 ? factor(random) : 1)));
    }
    still.Add(view, scan.Rows(view));
  }
  return still.Text().value_or("");
}

constexpr EllipticBody kTrunk{.a_mm = 190, .b_mm = 110, .x_mm = 10, .y_mm = 5};

TEST(StillViews, AreToldOfTenFramesOfOneView) {
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0), 20, 10, 0.02),
              HasSubstr("frames 20 to 29 show the same view"));
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0), 20, 10, 0.02),
              HasSubstr("their matrices turn by 15.1 degrees"));
  EXPECT_THAT(Told(EllipseScan(120, 360, kTrunk, 0), 70, 10, 0.02), HasSubstr("frames 70 to 79"));
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0), 20, 3, 0.01), HasSubstr("frames 20 to 22"));
}

TEST(StillViews, AreSeenUnderADoseThatFlickers) {
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0), 20, 10, 0.01, 0.1), HasSubstr("frames 20 to 29"));
}

TEST(StillViews, OfAnArmThatTurnsAreNone) {
  for (const EllipticBody& body :
       {EllipticBody{}, EllipticBody{.x_mm = 0, .y_mm = 0}, kTrunk, EllipticBody{.x_mm = 120},
        EllipticBody{.a_mm = 50, .b_mm = 50, .x_mm = 40}, EllipticBody{.a_mm = 50, .b_mm = 48},
        EllipticBody{.a_mm = 200, .b_mm = 12, .y_mm = 90}}) {
    for (const double noise : {0.0, 0.01, 0.05}) {
      for (const int views : {60, 120, 300}) {
        EXPECT_THAT(Told(EllipseScan(views, 200, body, 0), 0, 0, noise), IsEmpty())
            << body.a_mm << " " << body.b_mm << " " << noise << " " << views;
      }
      EXPECT_THAT(Told(EllipseScan(120, 360, body, 0, 100), 0, 0, noise), IsEmpty()) << body.a_mm;
    }
  }
}

TEST(StillViews, OfARoundObjectInTheMiddleSayNothing) {
  const EllipticBody round{.a_mm = 80, .b_mm = 80, .x_mm = 0, .y_mm = 0};
  for (const double noise : {0.0, 0.01}) {
    EXPECT_THAT(Told(EllipseScan(120, 200, round, 0), 0, 0, noise), IsEmpty()) << noise;
    EXPECT_THAT(Told(EllipseScan(120, 200, round, 0), 50, 10, noise), IsEmpty()) << noise;
  }
}

}  // namespace
}  // namespace isocenter::recon
