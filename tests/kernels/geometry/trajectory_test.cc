#include "kernels/geometry/trajectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/units.h"

namespace isocenter {
namespace {

using ::testing::HasSubstr;

const Detector kDetector{.columns = 11, .rows = 7, .pitch_u_mm = 2, .pitch_v_mm = 3};
const CircularOrbit kOrbit{.views = 5,
                           .source_to_isocenter_mm = 600,
                           .source_to_detector_mm = 1200,
                           .start_angle = kPi / 2,
                           .arc = -kPi,
                           .offset_u_px = 1,
                           .offset_v_px = -0.5};

// Errors of a few roundings of values up to 1200.
constexpr double kRounding = 1e-10;

TEST(MakeCircularOrbit, KeepsTheStatedConvention) {
  const auto trajectory = MakeCircularOrbit(kOrbit, kDetector);
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  ASSERT_EQ(trajectory->size(), 5u);
  for (int view = 0; view < 5; ++view) {
    const double angle = kPi / 2 - view * kPi / 4;
    const auto camera = Decompose((*trajectory)[view]);
    ASSERT_TRUE(camera.ok()) << camera.status();
    EXPECT_NEAR(camera->source.x, 600 * std::cos(angle), kRounding);
    EXPECT_NEAR(camera->source.y, 600 * std::sin(angle), kRounding);
    EXPECT_NEAR(camera->source.z, 0, kRounding);
    EXPECT_NEAR(camera->u_axis.x, -std::sin(angle), kRounding);
    EXPECT_NEAR(camera->u_axis.y, std::cos(angle), kRounding);
    EXPECT_NEAR(camera->v_axis.z, -1, kRounding);
    EXPECT_NEAR(camera->focal_u_px, 600, kRounding);
    EXPECT_NEAR(camera->focal_v_px, 400, kRounding);
    EXPECT_NEAR(camera->principal_u_px, 6, kRounding);
    EXPECT_NEAR(camera->principal_v_px, 2.5, kRounding);
    EXPECT_EQ((*trajectory)[view].m[11], 1);
  }
}

// Magnification 2 at the isocentre: 4 mm along u are 8 mm = 4 pixels, 6 mm up are 12 mm = 4 rows.
TEST(MakeCircularOrbit, ImagesAPointWhereAPencilPutsIt) {
  CircularOrbit orbit = kOrbit;
  orbit.start_angle = 0;
  orbit.offset_u_px = orbit.offset_v_px = 0;
  const auto trajectory = MakeCircularOrbit(orbit, kDetector);
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  const Projected image = (*trajectory)[0].Project({0, 4, 6});
  EXPECT_NEAR(image.u(), 5 + 4, kRounding);
  EXPECT_NEAR(image.v(), 3 - 4, kRounding);
  EXPECT_NEAR((*trajectory)[0].Project({300, 0, 0}).w, 0.5, kRounding);
}

TEST(MakeCircularOrbit, NamesTheFieldThatIsWrong) {
  const double nan = std::nan("");
  const auto expect_refused = [](CircularOrbit orbit, Detector detector, const char* field) {
    const auto result = MakeCircularOrbit(orbit, detector);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr(field));
  };
  const auto orbit_with = [](auto member, auto value) {
    CircularOrbit orbit = kOrbit;
    orbit.*member = value;
    return orbit;
  };
  for (int views : {0, -3, 10001}) {
    expect_refused(orbit_with(&CircularOrbit::views, views), kDetector, "views");
  }
  for (double bad : {0.9, -600.0, 10001.0, nan}) {
    expect_refused(orbit_with(&CircularOrbit::source_to_isocenter_mm, bad), kDetector,
                   "source_to_isocenter_mm");
  }
  for (double bad : {600.0, 0.0, 20001.0, nan}) {
    expect_refused(orbit_with(&CircularOrbit::source_to_detector_mm, bad), kDetector,
                   "source_to_detector_mm");
  }
  for (double bad : {4.1 * kPi, -4.1 * kPi, nan, std::numeric_limits<double>::infinity()}) {
    expect_refused(orbit_with(&CircularOrbit::arc, bad), kDetector, "arc");
  }
  expect_refused(orbit_with(&CircularOrbit::start_angle, nan), kDetector, "start_angle");
  expect_refused(orbit_with(&CircularOrbit::offset_u_px, nan), kDetector, "offset_u_px");
  expect_refused(orbit_with(&CircularOrbit::offset_v_px, 1e6), kDetector, "offset_v_px");
  Detector detector = kDetector;
  detector.columns = 0;
  expect_refused(kOrbit, detector, "detector.columns");
  detector = kDetector;
  detector.pitch_v_mm = nan;
  expect_refused(kOrbit, detector, "detector.pitch_v_mm");
}

// Pixels 0..3 of the fine detector are pixel 0 of the coarse one, whose centre is at 1.5.
TEST(Binned, KeepsPixelCentres) {
  const auto trajectory = MakeCircularOrbit(kOrbit, kDetector);
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  const Trajectory binned = Binned(*trajectory, 4);
  ASSERT_EQ(binned.size(), trajectory->size());
  for (size_t view = 0; view < binned.size(); ++view) {
    for (Vec3 point : {Vec3{0, 0, 0}, Vec3{3, -4, 5}}) {
      const Projected fine = (*trajectory)[view].Project(point);
      const Projected coarse = binned[view].Project(point);
      EXPECT_NEAR(4 * coarse.u() + 1.5, fine.u(), kRounding);
      EXPECT_NEAR(4 * coarse.v() + 1.5, fine.v(), kRounding);
      EXPECT_EQ(coarse.w, fine.w);
    }
  }
}

TEST(Binned, IsTheOrbitOfTheCoarserDetector) {
  const Detector fine{.columns = 12, .rows = 8, .pitch_u_mm = 1, .pitch_v_mm = 1};
  const Detector coarse{.columns = 6, .rows = 4, .pitch_u_mm = 2, .pitch_v_mm = 2};
  CircularOrbit orbit = kOrbit;
  orbit.offset_u_px = orbit.offset_v_px = 0;
  const auto of_fine = MakeCircularOrbit(orbit, fine);
  const auto of_coarse = MakeCircularOrbit(orbit, coarse);
  ASSERT_TRUE(of_fine.ok() && of_coarse.ok());
  const Trajectory binned = Binned(*of_fine, 2);
  for (size_t view = 0; view < binned.size(); ++view) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_NEAR(binned[view].m[i], (*of_coarse)[view].m[i], kRounding);
    }
  }
}

TEST(SourceAngles, UnwrapsInBothDirections) {
  for (double arc : {-2.5 * kPi, 3.5 * kPi}) {
    CircularOrbit orbit = kOrbit;
    orbit.views = 101;
    orbit.start_angle = 3;
    orbit.arc = arc;
    const auto trajectory = MakeCircularOrbit(orbit, kDetector);
    ASSERT_TRUE(trajectory.ok()) << trajectory.status();
    const auto angles = SourceAngles(*trajectory);
    ASSERT_TRUE(angles.ok()) << angles.status();
    for (int view = 0; view < 101; ++view) {
      EXPECT_NEAR((*angles)[view], 3 + arc * view / 100, kRounding);
    }
  }
}

TEST(SourceAngles, NamesTheViewWithoutAnAngle) {
  auto trajectory = MakeCircularOrbit(kOrbit, kDetector);
  ASSERT_TRUE(trajectory.ok()) << trajectory.status();
  Trajectory on_axis = *trajectory;  // view 3 looks along z
  on_axis[3] = ProjectionMatrix{{2, 0, -0.05, 50, 0, 2, -0.04, 40, 0, 0, -0.001, 1}};
  EXPECT_THAT(std::string(SourceAngles(on_axis).status().message()),
              HasSubstr("view 3: the source is"));
  Trajectory singular = *trajectory;
  singular[2] = ProjectionMatrix{};
  EXPECT_THAT(std::string(SourceAngles(singular).status().message()), HasSubstr("view 2"));
}

}  // namespace
}  // namespace isocenter
