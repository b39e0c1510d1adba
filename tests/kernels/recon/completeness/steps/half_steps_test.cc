#include "kernels/recon/completeness/steps/half_steps.h"

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

/// `gain`: of a pixel in a view, from left to right and top to bottom, each 0 to 1.
using Gain = std::function<double(int view, double u, double v)>;

std::string Told(EllipseScan scan, const Gain& gain) {
  HalfSteps steps(scan.acquisition);
  const Detector& detector = scan.acquisition.detector;
  for (int view = 0; view < scan.views(); ++view) {
    for (int v = 0; v < detector.rows; ++v) {
      for (int u = 0; u < detector.columns; ++u) {
        uint16_t& count = scan.frames[view][v * detector.columns + u];
        const double changed =
            count * gain(view, (u + 0.5) / detector.columns, (v + 0.5) / detector.rows);
        count = static_cast<uint16_t>(std::min(65535L, std::lround(changed)));
      }
    }
    steps.Add(view, scan.Rows(view));
  }
  return steps.Text().value_or("");
}

/// The right half from frame 60 on.
Gain Right(double gain) {
  return [gain](int view, double u, double) { return view >= 60 && u > 0.5 ? gain : 1; };
}

double Even(int, double, double) { return 1; }

constexpr EllipticBody kTrunk{.a_mm = 190, .b_mm = 110, .x_mm = 10, .y_mm = 5};

TEST(HalfSteps, OfTheRightHalfInMidScanAreTold) {
  EXPECT_THAT(
      Told(EllipseScan(120, 200, {}, 0.01), Right(0.85)),
      HasSubstr("left and right halves of the frames differ by 15.0 % more from frame 60 on"));
  EXPECT_THAT(Told(EllipseScan(120, 360, {}, 0.01), Right(1.05)), HasSubstr("by 5.1 % more"));
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01), Right(0.97)), HasSubstr("from frame 60 on"));
}

TEST(HalfSteps, NeedNoAir) {
  EXPECT_THAT(Told(EllipseScan(120, 200, kTrunk, 0.01), Right(0.95)), HasSubstr("left and right"));
  EXPECT_THAT(Told(EllipseScan(120, 200, {.x_mm = 120}, 0.01), Right(0.95)),
              HasSubstr("left and right"));
}

TEST(HalfSteps, OfTheLowerHalfAreTold) {
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01),
                   [](int view, double, double v) { return view >= 60 && v > 0.5 ? 0.95 : 1; }),
              HasSubstr("the upper and lower halves of the frames differ by 5.1 %"));
}

TEST(HalfSteps, ForSomeFramesAreTwo) {
  EXPECT_THAT(
      Told(EllipseScan(120, 200, {}, 0.01),
           [](int view, double u, double) { return view >= 50 && view < 70 && u < 0.5 ? 0.9 : 1; }),
      HasSubstr("(the largest of 2 such steps)"));
}

TEST(HalfSteps, ObjectsThatTurnAreNone) {
  for (const EllipticBody& body :
       {EllipticBody{}, kTrunk, EllipticBody{.x_mm = 120}, EllipticBody{.a_mm = 60, .b_mm = 5},
        EllipticBody{.a_mm = 200, .b_mm = 12, .y_mm = 90}, EllipticBody{.a_mm = 15, .b_mm = 15}}) {
    for (const double noise : {0.0, 0.01}) {
      for (const int views : {60, 120}) {
        EXPECT_THAT(Told(EllipseScan(views, 200, body, noise), Even), IsEmpty())
            << body.a_mm << " " << body.x_mm << " " << views;
        EXPECT_THAT(Told(EllipseScan(views, 360, body, noise, 100), Even), IsEmpty())
            << body.a_mm << " " << body.x_mm << " " << views;
      }
    }
  }
}

TEST(HalfSteps, DosesAndGainsThatStayAreNone) {
  auto random = std::make_shared<std::mt19937>(3);
  std::normal_distribution<double> flicker(1, 0.1);
  double dose = 1;
  int of_view = -1;
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01),
                   [&](int view, double, double) {
                     if (view != of_view) dose = flicker(*random);
                     of_view = view;
                     return dose;
                   }),
              IsEmpty());
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01),
                   [](int view, double, double) { return view < 60 ? 1 : 0.8; }),
              IsEmpty());
  EXPECT_THAT(Told(EllipseScan(120, 200, {}, 0.01),
                   [](int, double u, double) { return u < 0.5 ? 1 : 0.8; }),
              IsEmpty());
}

}  // namespace
}  // namespace isocenter::recon
