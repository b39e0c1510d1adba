// What a trajectory says of the positioner, about the patient.
#include "server/pipeline/facts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::pipeline {
namespace {

constexpr Detector kDetector{.columns = 100, .rows = 80, .pitch_u_mm = 2, .pitch_v_mm = 2};

/// 41 views over 200 degrees, 5 degrees each; of an HFS patient from the right (RAO) to the left.
Trajectory Orbit() {
  const auto made = MakeCircularOrbit({.views = 41,
                                       .source_to_isocenter_mm = 750,
                                       .source_to_detector_mm = 1200,
                                       .start_angle = 0,
                                       .arc = DegreesToRadians(200)},
                                      kDetector);
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

/// Less than a full turn.
double Near(double angle, double other) { return std::remainder(angle - other, 360); }

TEST(ScansOf, AnglesAreAboutThePatient) {
  const auto supine = ScansOf(Orbit(), PatientPosition::kHfs);
  ASSERT_TRUE(supine.ok()) << supine.status();
  EXPECT_NEAR(supine->primary.arc_deg, 200, 1e-6);
  ASSERT_TRUE(supine->primary.increment_deg.has_value());
  const double step = *supine->primary.increment_deg, start = supine->primary.start_deg;
  EXPECT_NEAR(std::abs(step), 5, 1e-6);
  EXPECT_NEAR(supine->secondary.arc_deg, 0, 1e-6);
  struct Case {
    PatientPosition position;
    double start, step;
  };
  // Turning the patient about the table's long axis shifts the angle; the other way round, what was
  // on the left is on the right.
  for (const Case& expected :
       {Case{PatientPosition::kHfp, start + 180, step},
        Case{PatientPosition::kHfdr, start + 90, step},
        Case{PatientPosition::kHfdl, start - 90, step}, Case{PatientPosition::kFfs, -start, -step},
        Case{PatientPosition::kFfp, 180 - start, -step}}) {
    SCOPED_TRACE(Name(expected.position));
    const auto scans = ScansOf(Orbit(), expected.position);
    ASSERT_TRUE(scans.ok()) << scans.status();
    EXPECT_NEAR(Near(scans->primary.start_deg, expected.start), 0, 1e-6);
    EXPECT_NEAR(*scans->primary.increment_deg, expected.step, 1e-6);
    EXPECT_NEAR(scans->primary.arc_deg, 200, 1e-6);
  }
}

TEST(ScansOf, ASourceInTheIsocentreIsRefused) {
  ProjectionMatrix at_isocentre{{1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}};
  EXPECT_EQ(ScansOf({at_isocentre}, PatientPosition::kHfs).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::pipeline
