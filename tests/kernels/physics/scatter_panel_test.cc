#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/pixel_rays.h"
#include "kernels/physics/scatter/panel.h"

namespace isocenter::physics {
namespace {

constexpr Detector kDetector{.columns = 60, .rows = 60, .pitch_u_mm = 10, .pitch_v_mm = 8};
constexpr double kSid = 200, kSdd = 300;

ProjectionMatrix Matrix() {
  return MakeWobblingOrbit(
             {.views = 1, .source_to_isocenter_mm = kSid, .source_to_detector_mm = kSdd}, kDetector,
             1, 4)
      .value()[0];
}

/// Of a rectangle of half edges a and b whose middle is straight below at distance d.
double SolidAngle(double a, double b, double d) {
  return 4 * std::atan(a * b / (d * std::sqrt(a * a + b * b + d * d)));
}

// Positions are the pixels', whatever the arm does.
TEST(ScatterPanel, HasItsPixelsWhereTheMatrixHasThem) {
  const ProjectionMatrix matrix = Matrix();
  const Panel panel = Panel::Make(matrix, kDetector).value();
  for (double u : {0.0, 0.3, 1.0}) {
    for (double v : {0.0, 0.8, 1.0}) {
      const Projected pixel = matrix.Project(panel.Point(u, v));
      EXPECT_NEAR(pixel.u(), 60 * u - 0.5, 1e-6);
      EXPECT_NEAR(pixel.v(), 60 * v - 0.5, 1e-6);
    }
  }
  EXPECT_NEAR(Norm(panel.Point(1, 0) - panel.Point(0, 0)), 600, 1);
  EXPECT_NEAR(Norm(panel.Point(0, 1) - panel.Point(0, 0)), 480, 1);
}

// The same number of photons in each solid angle, so fewer for each mm² towards the border.
TEST(ScatterPanel, ShinesEvenly) {
  const ProjectionMatrix matrix =
      MakeCircularOrbit({.views = 1, .source_to_isocenter_mm = kSid, .source_to_detector_mm = kSdd},
                        kDetector)
          .value()[0];
  const Panel panel = Panel::Make(matrix, kDetector).value();
  constexpr int kDraws = 200000;
  phantom::Generator draws(2);
  int inner = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Vec3 direction = panel.DrawDirection(draws);
    const double y = direction.y / -direction.x * kSdd, z = direction.z / -direction.x * kSdd;
    EXPECT_LE(std::abs(y), 300 + 1e-9);
    EXPECT_LE(std::abs(z), 240 + 1e-9);
    inner += std::abs(y) <= 150 && std::abs(z) <= 120;
  }
  const double all = SolidAngle(300, 240, kSdd), share = SolidAngle(150, 120, kSdd) / all;
  EXPECT_NEAR(static_cast<double>(inner) / kDraws, share,
              5 * std::sqrt(share * (1 - share) / kDraws));
  EXPECT_GT(share, 0.35);  // of a quarter of the area
  EXPECT_NEAR(panel.OpenShare(panel.Point(0.5, 0.5)), 1 / (kSdd * kSdd) / all, 1e-9);
}

// Rows of the lower half are three times as bright as the others.
TEST(ScatterPanel, ShinesByRows) {
  const ProjectionMatrix matrix =
      MakeCircularOrbit({.views = 1, .source_to_isocenter_mm = kSid, .source_to_detector_mm = kSdd},
                        kDetector)
          .value()[0];
  std::vector<double> rows(60, 1);
  std::fill(rows.begin(), rows.begin() + 30, 1.0 / 3);
  const Panel panel = Panel::Make(matrix, kDetector, rows).value();
  constexpr int kDraws = 100000;
  phantom::Generator draws(3);
  int bright = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Vec3 direction = panel.DrawDirection(draws);
    bright += matrix.Project(panel.source() + 100 * direction).v() > 29.5;
  }
  EXPECT_NEAR(static_cast<double>(bright) / kDraws, 0.75, 5 * std::sqrt(0.1875 / kDraws));
  const double all = SolidAngle(300, 240, kSdd) * 2 / 3;
  EXPECT_NEAR(panel.OpenShare(panel.Point(0.5, 0.5)) * kSdd * kSdd * all, 1, 1e-4);
}

}  // namespace
}  // namespace isocenter::physics
