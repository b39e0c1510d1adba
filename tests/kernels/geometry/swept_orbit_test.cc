#include "kernels/geometry/orbits/swept_orbit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter {
namespace {

using testing::HasSubstr;

const Detector kDetector{.columns = 62, .rows = 48, .pitch_u_mm = 6, .pitch_v_mm = 6};

SweptOrbit Orbit(SweepShape shape) {
  return {.base = {.views = 41,
                   .source_to_isocenter_mm = 750,
                   .source_to_detector_mm = 1200,
                   .start_angle = 0.3,
                   .arc = DegreesToRadians(200)},
          .shape = shape,
          .sweep = DegreesToRadians(12)};
}

Camera CameraOf(const Trajectory& trajectory, int view) { return *Decompose(trajectory[view]); }

double ElevationDeg(const Camera& camera) {
  return RadiansToDegrees(std::asin(camera.source.z / Norm(camera.source)));
}

TEST(SweptOrbit, WithoutSweepIsTheCircle) {
  for (const SweepShape shape : {SweepShape::kSine, SweepShape::kTilted, SweepShape::kSaddle}) {
    SweptOrbit orbit = Orbit(shape);
    orbit.sweep = 0;
    const Trajectory swept = *MakeSweptOrbit(orbit, kDetector);
    const Trajectory circle = *MakeCircularOrbit(orbit.base, kDetector);
    for (int view = 0; view < orbit.base.views; ++view) {
      for (int i = 0; i < 12; ++i) EXPECT_NEAR(swept[view].m[i], circle[view].m[i], 1e-9);
    }
  }
}

TEST(SweptOrbit, KeepsItsDistanceAndLooksAtTheIsocentre) {
  for (const SweepShape shape :
       {SweepShape::kSine, SweepShape::kTilted, SweepShape::kSaddle, SweepShape::kTwoArcs}) {
    const Trajectory swept = *MakeSweptOrbit(Orbit(shape), kDetector);
    double largest = 0;
    for (int view = 0; view < 41; ++view) {
      const Camera camera = CameraOf(swept, view);
      EXPECT_NEAR(Norm(camera.source), 750, 1e-6);
      EXPECT_NEAR(swept[view](0, 3) / swept[view](2, 3), 30.5, 1e-9);
      EXPECT_NEAR(swept[view](1, 3) / swept[view](2, 3), 23.5, 1e-9);
      largest = std::max(largest, std::abs(ElevationDeg(camera)));
    }
    EXPECT_NEAR(largest, 12, 0.2);
  }
}

TEST(SweptOrbit, ShapesAreAsTheyAreSaidToBe) {
  const Trajectory sine = *MakeSweptOrbit(Orbit(SweepShape::kSine), kDetector);
  EXPECT_NEAR(ElevationDeg(CameraOf(sine, 0)), 0, 1e-6);
  EXPECT_NEAR(ElevationDeg(CameraOf(sine, 10)), 12, 1e-6);
  EXPECT_NEAR(ElevationDeg(CameraOf(sine, 30)), -12, 1e-6);
  const Trajectory arcs = *MakeSweptOrbit(Orbit(SweepShape::kTwoArcs), kDetector);
  EXPECT_NEAR(ElevationDeg(CameraOf(arcs, 0)), 12, 1e-6);
  EXPECT_NEAR(ElevationDeg(CameraOf(arcs, 40)), -12, 1e-6);
  const Camera first = CameraOf(arcs, 0), last = CameraOf(arcs, 40);
  EXPECT_NEAR(first.source.x, last.source.x, 1e-6);  // back where it began
  // The sources of a tilted orbit are in one plane through the isocentre.
  const Trajectory tilted = *MakeSweptOrbit(Orbit(SweepShape::kTilted), kDetector);
  const Vec3 normal{0, -std::sin(DegreesToRadians(12)), std::cos(DegreesToRadians(12))};
  for (int view = 0; view < 41; ++view) {
    EXPECT_NEAR(Dot(normal, CameraOf(tilted, view).source), 0, 1e-6);
  }
}

TEST(SweptOrbit, NamesWhatIsWrong) {
  SweptOrbit orbit = Orbit(SweepShape::kSine);
  orbit.sweep = DegreesToRadians(61);
  EXPECT_THAT(std::string(MakeSweptOrbit(orbit, kDetector).status().message()),
              HasSubstr("legal is 0 to 60"));
  orbit = Orbit(SweepShape::kSine);
  orbit.periods = 0;
  EXPECT_THAT(std::string(MakeSweptOrbit(orbit, kDetector).status().message()),
              HasSubstr("periods are 0; legal is 0.25 to 20"));
  orbit = Orbit(SweepShape::kTwoArcs);
  orbit.base.views = 3;
  EXPECT_THAT(std::string(MakeSweptOrbit(orbit, kDetector).status().message()),
              HasSubstr("two arcs of 3 views"));
}

}  // namespace
}  // namespace isocenter
