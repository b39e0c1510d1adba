#include "proto/wire/plausible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/time/civil_time.h"
#include "kernels/base/units.h"

namespace isocenter::wire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const absl::Time kNow = absl::FromCivil(absl::CivilDay(2026, 11, 27), absl::LocalTimeZone());

v1::AcquisitionHeader Plausible() {
  v1::AcquisitionHeader header;
  header.mutable_detector()->set_columns(1000);
  header.mutable_detector()->set_rows(800);
  header.mutable_detector()->set_pitch_u_mm(0.3);
  header.mutable_detector()->set_pitch_v_mm(0.3);
  header.set_tube_voltage_kv(90);
  header.set_frame_rate_hz(30);
  header.mutable_circular()->set_source_to_isocenter_mm(750);
  header.mutable_patient_study()->set_study_date("20261127");
  header.mutable_patient_study()->set_patient_birth_date("19400229");
  return header;
}

Trajectory Orbit(int views) {
  return MakeCircularOrbit({.views = views,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .arc = DegreesToRadians(200)},
                           {.columns = 64, .rows = 48, .pitch_u_mm = 4, .pitch_v_mm = 4})
      .value();
}

std::vector<std::string> Doubts(const std::function<void(v1::AcquisitionHeader&)>& spoil) {
  v1::AcquisitionHeader header = Plausible();
  spoil(header);
  return ImplausibleFields(header, {}, kNow);
}

TEST(Plausible, AnOrdinaryHeaderIs) {
  EXPECT_THAT(ImplausibleFields(Plausible(), Orbit(100), kNow), IsEmpty());
  EXPECT_THAT(ImplausibleFields({}, {}, kNow), IsEmpty()) << "what is not told is not judged";
}

TEST(Plausible, AGridHasItsCornerSomewhereElse) {
  const auto grid = [](const std::function<void(v1::VolumeGrid&)>& change) {
    return Doubts([&](v1::AcquisitionHeader& h) {
      v1::VolumeGrid& g = *h.mutable_grid();
      for (const auto set :
           {&v1::VolumeGrid::set_nx, &v1::VolumeGrid::set_ny, &v1::VolumeGrid::set_nz}) {
        (g.*set)(256);
      }
      change(g);
    });
  };
  EXPECT_THAT(grid([](auto&) {}), ElementsAre(HasSubstr("is grid.centered to be true?")));
  EXPECT_THAT(grid([](auto& g) { g.set_centered(true); }), IsEmpty());
  EXPECT_THAT(grid([](auto& g) { g.set_origin_z_mm(-80); }), IsEmpty());
  EXPECT_THAT(grid([](auto& g) { g.set_nz(1); }), IsEmpty()) << "a plane may begin anywhere";
}

std::vector<std::string> GridDoubts(int voxels, double spacing_mm) {
  v1::AcquisitionHeader header = Plausible();
  v1::VolumeGrid& grid = *header.mutable_grid();
  grid.set_nx(voxels), grid.set_ny(voxels), grid.set_nz(voxels);
  grid.set_spacing_x_mm(spacing_mm), grid.set_spacing_y_mm(spacing_mm);
  grid.set_spacing_z_mm(spacing_mm);
  grid.set_centered(true);
  return ImplausibleFields(header, Orbit(100), kNow);
}

TEST(Plausible, AGridHasVoxelsOfMillimetres) {
  EXPECT_THAT(GridDoubts(512, 0.35), IsEmpty());
  EXPECT_THAT(GridDoubts(2000, 0.01), IsEmpty());
  EXPECT_THAT(
      GridDoubts(64, 0.004),
      ElementsAre(HasSubstr("the voxels of grid are 0.004 x 0.004 x 0.004 mm; plausible is 0.01 to "
                            "10 mm"),
                  HasSubstr("grid is 0.256 x 0.256 x 0.256 mm, and the detector sees ")));
  EXPECT_THAT(GridDoubts(20, 11), ElementsAre(HasSubstr("11 x 11 x 11 mm; plausible")));
}

TEST(Plausible, AGridIsAboutAsLargeAsWhatTheDetectorSees) {
  // Orbit's detector is 252 mm between the centres of its outer columns: 155.7 mm are seen.
  const Detector detector{.columns = 64, .rows = 48, .pitch_u_mm = 4, .pitch_v_mm = 4};
  const auto doubts = [&](int voxels, double spacing) {
    return ImplausibleGrid("grid", CenteredGrid(voxels, voxels, 1, {spacing, spacing, spacing}),
                           Orbit(100), detector);
  };
  EXPECT_THAT(doubts(64, 0.05), IsEmpty()) << "3.2 mm";
  EXPECT_THAT(doubts(64, 0.04),
              ElementsAre(AllOf(HasSubstr("grid is 2.56 x 2.56 x 0.04 mm"), HasSubstr("sees"))));
  EXPECT_THAT(doubts(64, 9), IsEmpty()) << "576 mm";
  EXPECT_THAT(doubts(80, 9), ElementsAre(HasSubstr("grid is 720 x 720 x 9 mm")));
  EXPECT_THAT(ImplausibleGrid("grid", CenteredGrid(80, 80, 1, {9, 9, 9}), {}, detector), IsEmpty())
      << "nothing says what is seen";
}

TEST(Plausible, EachFieldIsNamedWithItsValueAndRange) {
  EXPECT_THAT(
      Doubts([](auto& h) { h.mutable_detector()->set_pitch_u_mm(5); }),
      ElementsAre("the detector's width (columns times pitch_u_mm) is 5000 mm; plausible is 20 "
                  "to 1000 mm"));
  EXPECT_THAT(
      Doubts([](auto& h) { h.mutable_detector()->set_pitch_v_mm(0.0003); }),
      ElementsAre("the detector's height (rows times pitch_v_mm) is 0.24 mm; plausible is 5 to "
                  "1000 mm"));
  EXPECT_THAT(Doubts([](auto& h) { h.set_tube_voltage_kv(12); }),
              ElementsAre("tube_voltage_kv is 12 kV; plausible is 40 to 150 kV"));
  EXPECT_THAT(Doubts([](auto& h) { h.set_frame_rate_hz(5000); }),
              ElementsAre("frame_rate_hz is 5000 Hz; plausible is 0.1 to 500 Hz"));
  EXPECT_THAT(Doubts([](auto& h) { h.mutable_circular()->set_source_to_isocenter_mm(110); }),
              ElementsAre(HasSubstr("source_to_isocenter_mm is 110 mm; plausible is 300 to 2000")));
}

TEST(Plausible, DatesAreOfLivingPatientsAndNotOfTheFuture) {
  const auto study = [](const char* date) {
    return Doubts([&](auto& h) { h.mutable_patient_study()->set_study_date(date); });
  };
  EXPECT_THAT(study("20261128"), IsEmpty()) << "a clock of the next time zone";
  EXPECT_THAT(study("20261129"),
              ElementsAre("patient_study.study_date is 20261129; plausible is 1990-01-01 to "
                          "2026-11-28"));
  EXPECT_THAT(study("19000101"), ElementsAre(HasSubstr("study_date is 19000101")));
  EXPECT_THAT(
      Doubts([](auto& h) { h.mutable_patient_study()->set_patient_birth_date("19000101"); }),
      ElementsAre(HasSubstr("patient_birth_date is 19000101; plausible is 1900-01-02")));
}

TEST(Plausible, FramesAreNotAQuarterOfATurnApart) {
  // 4 views of 200 degrees, at equal distances of 200 / 3.
  const std::vector<std::string> doubts = ImplausibleFields(Plausible(), Orbit(4), kNow);
  EXPECT_THAT(doubts, ElementsAre(HasSubstr("degrees of the arc apart; plausible is up to 60")));
  Trajectory gap = Orbit(100);
  gap.erase(gap.begin() + 30, gap.begin() + 70);
  EXPECT_THAT(ImplausibleFields(Plausible(), gap, kNow),
              ElementsAre(HasSubstr("frames 29 and 30 are 8")));
}

TEST(Plausible, ViewsAreNotMissingInABlock) {
  const auto without = [](int views, int missing) {
    Trajectory gap = Orbit(views);
    gap.erase(gap.begin() + 40, gap.begin() + 40 + missing);
    return ImplausibleFields(Plausible(), gap, kNow);
  };
  EXPECT_THAT(without(110, 12), ElementsAre(HasSubstr("frames 39 and 40 are 23.85 degrees of the "
                                                      "arc apart, where steps are 1.83 degrees")));
  EXPECT_THAT(without(110, 2), IsEmpty()) << "3 steps";
  EXPECT_THAT(without(110, 3), ElementsAre(HasSubstr("are views missing between them?")));
  EXPECT_THAT(without(500, 10), IsEmpty()) << "4.4 degrees";
  EXPECT_THAT(without(500, 12), ElementsAre(HasSubstr("plausible is up to 5 degrees")));
}

TEST(Plausible, TheArmTurnsAboutZ) {
  // The same cameras in a world that is turned about x.
  const auto turned = [](int views, double deg) {
    const double c = std::cos(DegreesToRadians(deg)), s = std::sin(DegreesToRadians(deg));
    Trajectory trajectory = Orbit(views);
    for (ProjectionMatrix& p : trajectory) {
      for (int row = 0; row < 3; ++row) {
        const double y = p.m[4 * row + 1], z = p.m[4 * row + 2];
        p.m[4 * row + 1] = c * y - s * z;
        p.m[4 * row + 2] = s * y + c * z;
      }
    }
    return trajectory;
  };
  for (const double deg : {90.0, -90.0, 70.0}) {
    EXPECT_THAT(ImplausibleFields(Plausible(), turned(100, deg), kNow),
                ElementsAre(HasSubstr("is the axis of rotation z of the matrices' world?")))
        << deg;
  }
  EXPECT_THAT(ImplausibleFields(Plausible(), turned(100, 90), kNow),
              ElementsAre(HasSubstr("90 degrees from z; plausible is up to 60 degrees")));
  EXPECT_THAT(ImplausibleFields(Plausible(), turned(100, 40), kNow), IsEmpty())
      << "an arm that is angled to the head";
  EXPECT_THAT(ImplausibleFields(Plausible(), turned(100, 180), kNow), IsEmpty());
  EXPECT_THAT(ImplausibleFields(Plausible(), Trajectory(3, Orbit(3)[0]), kNow), IsEmpty())
      << "nothing turns";
}

TEST(Plausible, MatricesHaveTheDetectorsPixels) {
  const auto with = [](double pitch_v) {
    v1::AcquisitionHeader header = Plausible();
    header.mutable_detector()->set_pitch_v_mm(pitch_v);
    return ImplausibleFields(header, Orbit(100), kNow);
  };
  EXPECT_THAT(with(0.3013), IsEmpty());
  EXPECT_THAT(with(0.306),
              ElementsAre(AllOf(HasSubstr("2.00 % apart"), HasSubstr("plausible is up to 0.5 %"))));
  Trajectory mirrored = Orbit(100);
  for (ProjectionMatrix& matrix : mirrored) {
    for (int i = 0; i < 4; ++i) matrix.m[i] = 999 * matrix.m[8 + i] - matrix.m[i];
  }
  EXPECT_THAT(ImplausibleFields(Plausible(), mirrored, kNow), IsEmpty());
}

}  // namespace
}  // namespace isocenter::wire
