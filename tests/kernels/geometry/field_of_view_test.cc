#include "kernels/geometry/field_of_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter {
namespace {

using ::testing::HasSubstr;

const Detector kDetector{.columns = 401, .rows = 301, .pitch_u_mm = 1, .pitch_v_mm = 1};
const CircularOrbit kOrbit{
    .views = 36, .source_to_isocenter_mm = 500, .source_to_detector_mm = 1000, .arc = 2 * kPi};

Trajectory Orbit(double offset_u) {
  CircularOrbit orbit = kOrbit;
  orbit.offset_u_px = offset_u;
  return *MakeCircularOrbit(orbit, kDetector);
}

Trajectory HalfTurn(double offset_u) {
  CircularOrbit orbit = kOrbit;
  orbit.arc = 1.2 * kPi;
  orbit.offset_u_px = offset_u;
  return *MakeCircularOrbit(orbit, kDetector);
}

constexpr double kRounding = 1e-9;

// The outermost columns are seen under atan(200/1000); their rays pass the axis at
// 500 mm times the sine of that. Rows: 150 mm of detector are 75 mm at the isocentre.
TEST(ComputeFieldOfView, IsTheTangentCircle) {
  const auto field = ComputeFieldOfView(Orbit(0), kDetector);
  ASSERT_TRUE(field.ok()) << field.status();
  EXPECT_NEAR(field->radius_mm, 500 * std::sin(std::atan(0.2)), kRounding);
  EXPECT_NEAR(field->half_height_mm, 75, kRounding);
}

TEST(ComputeFieldOfView, TakesTheNearerEdgeOfAShortScan) {
  const auto field = ComputeFieldOfView(HalfTurn(-100), kDetector);
  ASSERT_TRUE(field.ok()) << field.status();
  EXPECT_NEAR(field->radius_mm, 500 * std::sin(std::atan(0.1)), kRounding);
}

// On a full turn what one side misses is seen by the other from opposite.
TEST(ComputeFieldOfView, TakesTheFartherEdgeOfAFullTurn) {
  for (double offset : {-100.0, 100.0}) {
    const auto field = ComputeFieldOfView(Orbit(offset), kDetector);
    ASSERT_TRUE(field.ok()) << field.status();
    EXPECT_NEAR(field->radius_mm, 500 * std::sin(std::atan(0.3)), kRounding);
    EXPECT_NEAR(field->half_height_mm, 75, kRounding);
  }
}

TEST(ComputeFieldOfView, EveryViewSeesTheWholeDisc) {
  Trajectory trajectory = HalfTurn(30);
  Camera tilted =
      *Decompose(trajectory[7]);  // a view from above with a detector turned in its plane
  tilted.source.z = 200;
  const Vec3 u = tilted.u_axis, v = tilted.v_axis;
  tilted.u_axis = std::cos(0.2) * u + std::sin(0.2) * v;
  tilted.v_axis = std::cos(0.2) * v - std::sin(0.2) * u;
  tilted.principal_u_px -= 90;  // brings the isocentre back onto the detector
  tilted.principal_v_px -= 410;
  trajectory[7] = Compose(tilted);
  const auto field = ComputeFieldOfView(trajectory, kDetector);
  ASSERT_TRUE(field.ok()) << field.status();
  double nearest_edge = 1e9;  // pixels; the largest disc touches an edge in some view
  for (const ProjectionMatrix& p : trajectory) {
    for (int i = 0; i < 3600; ++i) {
      const double angle = 2 * kPi * i / 3600;
      const Projected image =
          p.Project({field->radius_mm * std::cos(angle), field->radius_mm * std::sin(angle), 0});
      nearest_edge =
          std::min({nearest_edge, image.u(), image.v(), 400 - image.u(), 300 - image.v()});
    }
  }
  // 3600 points miss the tangent point by up to 1/7200 of a turn: 4e-7 of the radius.
  EXPECT_NEAR(nearest_edge, 0, 1e-3);
  EXPECT_GE(nearest_edge, -kRounding);
}

TEST(ComputeFieldOfView, NamesTheViewThatMissesTheIsocentre) {
  Trajectory trajectory = Orbit(0);
  CircularOrbit orbit = kOrbit;
  orbit.offset_v_px = 151;
  trajectory[5] = (*MakeCircularOrbit(orbit, kDetector))[5];
  const auto field = ComputeFieldOfView(trajectory, kDetector);
  EXPECT_EQ(field.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(field.status().message()), HasSubstr("view 5"));
  EXPECT_FALSE(ComputeFieldOfView({}, kDetector).ok());
  EXPECT_FALSE(ComputeFieldOfView(Orbit(0), Detector{}).ok());
}

TEST(AutoGrid, IsACubeAroundTheFieldOfView) {
  const auto grid = AutoGrid(Orbit(0), kDetector, 64);
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(grid->shape(), (Shape3{64, 64, 64}));
  const double radius = 500 * std::sin(std::atan(0.2));
  EXPECT_NEAR(grid->spacing.x * 64, 2 * radius, kRounding);
  EXPECT_EQ(grid->spacing.x, grid->spacing.z);
  EXPECT_NEAR(grid->VoxelToWorld(-0.5, 31.5, 63.5).x, -radius, kRounding);
  EXPECT_NEAR(grid->VoxelToWorld(-0.5, 31.5, 63.5).y, 0, kRounding);
  EXPECT_FALSE(AutoGrid(Orbit(0), kDetector, 0).ok());
  EXPECT_FALSE(AutoGrid(Orbit(0), kDetector, 4097).ok());
}

}  // namespace
}  // namespace isocenter
