// A trajectory in the angles by which DICOM counts the positions of a C-arm.
#include "server/pipeline/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr double kTolerance = 1e-9;  // degrees; what atan2 and asin lose

/// A view from the opposite of the detector at these angles. Primary: 0 in front of the patient,
/// 90 at the left hand (x in LPS); secondary: 90 at the head (z).
ProjectionMatrix ViewAt(double primary_deg, double secondary_deg) {
  const double p = DegreesToRadians(primary_deg), s = DegreesToRadians(secondary_deg);
  const Vec3 beam{std::sin(p) * std::cos(s), -std::cos(p) * std::cos(s), std::sin(s)};
  const Vec3 u{std::cos(p), std::sin(p), 0};
  return Compose({.source = -750.0 * beam,
                  .u_axis = u,
                  .v_axis = Cross(beam, u),
                  .depth_axis = beam,
                  .focal_u_px = 3900,
                  .focal_v_px = 3900,
                  .principal_u_px = 619.5,
                  .principal_v_px = 479.5});
}

/// `count` views from `first_deg` on, each turned by `step_deg` more.
Trajectory Turn(double first_deg, double step_deg, int count, double secondary_deg = 0) {
  Trajectory trajectory;
  for (int i = 0; i < count; ++i) {
    trajectory.push_back(ViewAt(first_deg + i * step_deg, secondary_deg));
  }
  return trajectory;
}

PositionerScans Scans(const Trajectory& trajectory) {
  const auto scans = ScansOf(trajectory);
  EXPECT_TRUE(scans.ok()) << scans.status();
  return scans.value_or(PositionerScans());
}

TEST(ScansOf, DetectorInFrontIsZeroAndAtTheLeftHandNinety) {
  const Detector detector{.columns = 620, .rows = 480, .pitch_u_mm = 0.6, .pitch_v_mm = 0.6};
  // By an orbit that was not made from these angles: its source is behind the patient (y), then at
  // the right hand (-x).
  const auto orbit = MakeCircularOrbit({.views = 2,
                                        .source_to_isocenter_mm = 750,
                                        .source_to_detector_mm = 1200,
                                        .start_angle = DegreesToRadians(90),
                                        .arc = DegreesToRadians(90)},
                                       detector);
  ASSERT_TRUE(orbit.ok()) << orbit.status();
  const PositionerScans scans = Scans(*orbit);
  EXPECT_NEAR(scans.primary.start_deg, 0, kTolerance);
  EXPECT_NEAR(scans.primary.arc_deg, 90, kTolerance);
  EXPECT_NEAR(scans.primary.increment_deg.value_or(0), 90, kTolerance);
  EXPECT_NEAR(scans.secondary.start_deg, 0, kTolerance);
}

TEST(ScansOf, BothDirections) {
  struct Case {
    double first_deg, step_deg;
    int views;
    double start_deg, arc_deg;
  };
  // Beyond half a turn, beyond a whole one, and from more than half a turn away.
  for (const Case& c :
       {Case{-100, 1, 201, -100, 200}, Case{100, -1, 201, 100, 200}, Case{170, 0.8, 251, 170, 200},
        Case{-90, 2, 201, -90, 400}, Case{190, 0.5, 11, -170, 5}}) {
    const PositionerScans scans = Scans(Turn(c.first_deg, c.step_deg, c.views));
    EXPECT_NEAR(scans.primary.start_deg, c.start_deg, kTolerance);
    EXPECT_NEAR(scans.primary.arc_deg, c.arc_deg, kTolerance);
    ASSERT_TRUE(scans.primary.increment_deg.has_value());
    EXPECT_NEAR(*scans.primary.increment_deg, c.step_deg, kTolerance);
    EXPECT_NEAR(scans.secondary.arc_deg, 0, kTolerance);
  }
}

TEST(ScansOf, TiltTowardsTheHeadIsPositive) {
  const PositionerScans scans = Scans(Turn(-45, 1, 91, 20));
  EXPECT_NEAR(scans.primary.start_deg, -45, kTolerance);
  EXPECT_NEAR(scans.secondary.start_deg, 20, kTolerance);
  EXPECT_NEAR(scans.secondary.arc_deg, 0, kTolerance);

  Trajectory swing;  // the other axis
  for (int i = 0; i <= 30; ++i) swing.push_back(ViewAt(10, -15 + i));
  const PositionerScans swung = Scans(swing);
  EXPECT_NEAR(swung.primary.arc_deg, 0, kTolerance);
  EXPECT_NEAR(swung.secondary.start_deg, -15, kTolerance);
  EXPECT_NEAR(swung.secondary.arc_deg, 30, kTolerance);
  EXPECT_NEAR(swung.secondary.increment_deg.value_or(0), 1, kTolerance);
}

TEST(ScansOf, OnlyEvenStepsAreAnIncrement) {
  Trajectory wobbling = Turn(0, 1, 50);
  wobbling[20] = ViewAt(20.09, 0);
  EXPECT_TRUE(Scans(wobbling).primary.increment_deg.has_value());
  Trajectory jump = Turn(0, 1, 50);
  jump[20] = ViewAt(20.2, 0);
  const PositionerScans scans = Scans(jump);
  EXPECT_FALSE(scans.primary.increment_deg.has_value());
  EXPECT_NEAR(scans.primary.arc_deg, 49, kTolerance);
  EXPECT_TRUE(scans.secondary.increment_deg.has_value());
}

TEST(ScansOf, OneViewHasNoIncrement) {
  const PositionerScans scans = Scans(Turn(30, 0, 1));
  EXPECT_NEAR(scans.primary.start_deg, 30, kTolerance);
  EXPECT_EQ(scans.primary.arc_deg, 0);
  EXPECT_FALSE(scans.primary.increment_deg.has_value());
}

TEST(ScansOf, AnglesAreAboutThePatient) {
  const auto scans_of = [](PatientPosition position) {
    const auto scans = ScansOf(Turn(-100, 5, 41), position);
    EXPECT_TRUE(scans.ok()) << scans.status();
    return scans.value_or(PositionerScans());
  };
  struct Case {
    PatientPosition position;
    double start_deg, step_deg;
  };
  // Turning the patient about the table's long axis shifts the angle; the other way round, what was
  // on the left is on the right.
  for (const Case& expected :
       {Case{PatientPosition::kHfs, -100, 5}, Case{PatientPosition::kHfp, 80, 5},
        Case{PatientPosition::kHfdr, -10, 5}, Case{PatientPosition::kHfdl, 170, 5},
        Case{PatientPosition::kFfs, 100, -5}, Case{PatientPosition::kFfp, -80, -5}}) {
    SCOPED_TRACE(Name(expected.position));
    const PositionerScans scans = scans_of(expected.position);
    EXPECT_NEAR(scans.primary.start_deg, expected.start_deg, kTolerance);
    EXPECT_NEAR(scans.primary.increment_deg.value_or(0), expected.step_deg, kTolerance);
    EXPECT_NEAR(scans.primary.arc_deg, 200, kTolerance);
  }
}

TEST(ScansOf, ViewsThatAreNoneAreNamed) {
  Trajectory singular = Turn(0, 1, 3);
  singular[2] = ProjectionMatrix();
  const absl::Status status = ScansOf(singular).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("view 2"));
  EXPECT_EQ(ScansOf({}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::pipeline
