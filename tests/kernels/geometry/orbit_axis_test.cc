#include "kernels/geometry/orbit_axis.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter {
namespace {

const Detector kDetector{.columns = 64, .rows = 48, .pitch_u_mm = 4, .pitch_v_mm = 4};

Trajectory Orbit(double arc_deg) {
  return *MakeCircularOrbit({.views = 60,
                             .source_to_isocenter_mm = 750,
                             .source_to_detector_mm = 1200,
                             .start_angle = 0.3,
                             .arc = DegreesToRadians(arc_deg)},
                            kDetector);
}

// The unit vector `tilt` from z towards the azimuth `turn`.
Vec3 Axis(double tilt, double turn) {
  return {std::sin(tilt) * std::cos(turn), std::sin(tilt) * std::sin(turn), std::cos(tilt)};
}

TEST(OrbitAxis, AnIdealOrbitTurnsAroundZ) {
  for (double arc : {40.0, 200.0, -200.0, 354.0}) {
    const auto axis = OrbitAxis(Orbit(arc));
    ASSERT_TRUE(axis.ok()) << axis.status();
    EXPECT_NEAR(axis->z, 1, 1e-12);
  }
}

TEST(OrbitAxis, ATiltedOrbitIsFoundAndTurnedUpright) {
  for (double tilt : {0.01, 0.4, 1.2}) {
    for (double turn : {0.0, 2.0, 4.5}) {
      const Vec3 expected = Axis(tilt, turn);
      // Turning the world so that `expected` becomes z makes the upright orbit's own axis the image
      // of z; tilt the orbit with the transposed turn: z of the orbit lands on `expected`.
      const Vec3 image{-expected.x, -expected.y, expected.z};
      const Trajectory tilted = TurnedToAxis(Orbit(200), image);
      const auto axis = OrbitAxis(tilted);
      ASSERT_TRUE(axis.ok()) << axis.status();
      const Trajectory upright = TurnedToAxis(tilted, *axis);
      for (const ProjectionMatrix& matrix : upright) {
        EXPECT_NEAR(Decompose(matrix)->source.z, 0, 1e-9);
        EXPECT_NEAR(Norm(Decompose(matrix)->source), 750, 1e-9);
      }
      EXPECT_NEAR(std::acos(axis->z), tilt, 1e-9);
    }
  }
}

TEST(OrbitAxis, ATooShortArcHasTheWorldsAxis) {
  const auto axis = OrbitAxis(Orbit(2));
  ASSERT_TRUE(axis.ok());
  EXPECT_EQ(*axis, (Vec3{0, 0, 1}));
}

TEST(LargestRowAngle, IsTheRollOfTheDetector) {
  Trajectory trajectory = Orbit(200);
  EXPECT_NEAR(*LargestRowAngle(trajectory, {0, 0, 1}), 0, 1e-9);
  Camera camera = *Decompose(trajectory[7]);
  const Vec3 u = camera.u_axis, v = camera.v_axis;
  camera.u_axis = std::cos(0.3) * u + std::sin(0.3) * v;
  camera.v_axis = std::cos(0.3) * v - std::sin(0.3) * u;
  trajectory[7] = Compose(camera);
  EXPECT_NEAR(*LargestRowAngle(trajectory, {0, 0, 1}), 0.3, 1e-9);
}

TEST(OrbitAxis, NamesASingularView) {
  Trajectory trajectory = Orbit(200);
  trajectory[5].m.fill(0);
  EXPECT_NE(OrbitAxis(trajectory).status().message().find("view 5"), std::string::npos);
}

}  // namespace
}  // namespace isocenter
