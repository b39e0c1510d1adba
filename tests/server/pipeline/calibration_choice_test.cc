// Which calibration an acquisition gets, and what it is told when it gets none.
#include "server/pipeline/calibration_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/fakes/test_scan.h"

namespace isocenter::pipeline {
namespace {

using jobs::CalibrationLabel;
using jobs::CalibrationPolicy;
using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

AcquisitionRequest Request(CalibrationPolicy policy = CalibrationPolicy::kRequire) {
  AcquisitionRequest request = isocenter::testing::SmallRequest(recon::PixelType::kUint16Counts);
  request.station_name = "room1";
  request.detector_mode = "2x2";
  request.tube_voltage_kv = 90;
  request.calibration_policy = policy;
  return request;
}

CalibrationLabel Label(const std::string& name) {
  return {.name = name,
          .station_name = "room1",
          .detector_mode = "2x2",
          .detector = Request().acquisition.detector,
          .tube_voltage_kv = 90,
          .valid_from = kNow - absl::Hours(24),
          .valid_until = kNow + absl::Hours(24),
          .created = kNow - absl::Hours(24),
          .crc32c = 7,
          .bytes = 100};
}

std::string Used(const std::vector<CalibrationLabel>& kept, const AcquisitionRequest& request) {
  const auto choice = ChooseCalibration(kept, request, kNow);
  if (!choice.ok()) return choice.status().ToString();
  return choice->used ? choice->used->name : "none";
}

std::string Refusal(const CalibrationLabel& label, const AcquisitionRequest& request) {
  const auto choice = ChooseCalibration({label}, request, kNow);
  EXPECT_EQ(choice.status().code(), absl::StatusCode::kFailedPrecondition) << choice.status();
  return std::string(choice.status().message());
}

TEST(CalibrationChoice, TheNewestThatFitsAndIsValid) {
  CalibrationLabel older = Label("older"), other = Label("other"), expired = Label("expired"),
                   future = Label("future"), withdrawn = Label("withdrawn");
  older.created -= absl::Hours(1);
  other.station_name = "room2";
  other.created += absl::Hours(5);
  expired.valid_until = kNow;
  expired.created += absl::Hours(3);
  future.valid_from = kNow + absl::Nanoseconds(1);
  future.created += absl::Hours(3);
  withdrawn.withdrawn = true;
  withdrawn.created += absl::Hours(4);
  EXPECT_EQ(Used({older, Label("newer"), other, expired, future, withdrawn}, Request()), "newer");
  EXPECT_EQ(Used({Label("a"), Label("b")}, Request()), "b");  // always the same one
  CalibrationLabel first_moment = Label("first");
  first_moment.valid_from = kNow;
  EXPECT_EQ(Used({first_moment}, Request()), "first");
}

TEST(CalibrationChoice, ThatWhichIsNamed) {
  CalibrationLabel older = Label("older");
  older.created -= absl::Hours(1);
  AcquisitionRequest request = Request();
  request.calibration_name = "older";
  EXPECT_EQ(Used({older, Label("newer")}, request), "older");
  request.calibration_name = "none";
  EXPECT_THAT(Refusal(older, request), HasSubstr("calibration is 'none', and none of that name"));
  request.calibration_name = "oldr";
  EXPECT_THAT(Refusal(older, request), HasSubstr("did you mean older?"));
  request.calibration_name = "older";
  older.withdrawn = true;
  EXPECT_THAT(Refusal(older, request), HasSubstr("'older' does not fit: it has been withdrawn"));
}

TEST(CalibrationChoice, WithinOneKilovolt) {
  CalibrationLabel label = Label("a");
  for (const auto& [kv, fits] : {std::pair(89.0, true), std::pair(91.0, true),
                                 std::pair(88.9, false), std::pair(91.1, false)}) {
    label.tube_voltage_kv = kv;
    EXPECT_EQ(Used({label}, Request()) == "a", fits) << kv;
  }
  label.tube_voltage_kv = 0;
  EXPECT_EQ(Used({label}, Request()), "a");
  AcquisitionRequest unknown = Request();
  unknown.tube_voltage_kv = 0;
  EXPECT_EQ(Used({label}, unknown), "a");
  EXPECT_THAT(Refusal(Label("a"), unknown), HasSubstr("tube voltage 90 kV, and the acquisition of "
                                                      "one that is not told"));
}

TEST(CalibrationChoice, ARefusalSaysWhatIsMissing) {
  EXPECT_THAT(Used({}, Request()),
              HasSubstr("protocol 'fdk' requires a calibration: no calibration "
                        "of station 'room1' is kept"));
  CalibrationLabel label = Label("a");
  label.detector.columns = 1248;
  label.tube_voltage_kv = 120;
  EXPECT_THAT(Refusal(label, Request()),
              AllOf(HasSubstr("'a' does not fit: it is of a detector of 1248x28 pixels of 8x8 mm, "
                              "and the acquisition of 36x28 pixels"),
                    HasSubstr("it is of tube voltage 120 kV, and the acquisition of 90 kV")));
  label = Label("a");
  label.detector_mode = "1x1";
  EXPECT_THAT(Refusal(label, Request()),
              HasSubstr("of detector mode '1x1', and the acquisition of '2x2'"));
  label = Label("a");
  label.detector.pitch_u_mm = 8.01;
  EXPECT_THAT(Refusal(label, Request()), HasSubstr("8.01x8 mm"));
  label = Label("a");
  label.valid_until = kNow;
  EXPECT_THAT(Refusal(label, Request()),
              AllOf(HasSubstr("'a' is valid from 2027-01-14"), HasSubstr("which is not now")));
}

TEST(CalibrationChoice, AWarningWhereThatIsEnough) {
  const AcquisitionRequest request = Request(CalibrationPolicy::kWarn);
  auto choice = *ChooseCalibration({}, request, kNow);
  EXPECT_FALSE(choice.used);
  ASSERT_TRUE(choice.warning);
  EXPECT_EQ(choice.warning->kind, jobs::WarningKind::kCalibration);
  EXPECT_THAT(choice.warning->text, HasSubstr("the frames are not corrected: no calibration of"));
  CalibrationLabel expired = Label("expired");
  expired.valid_until = kNow;
  choice = *ChooseCalibration({expired}, request, kNow);
  ASSERT_TRUE(choice.used && choice.warning);
  EXPECT_EQ(choice.used->name, "expired");
  EXPECT_TRUE(choice.used->outside_validity);
  EXPECT_THAT(choice.warning->text, HasSubstr("it is used all the same"));
  choice = *ChooseCalibration({expired, Label("valid")}, request, kNow);
  EXPECT_EQ(choice.used->name, "valid");
  EXPECT_EQ(choice.used->crc32c, 7u);
  EXPECT_FALSE(choice.warning || choice.used->outside_validity);
}

TEST(CalibrationChoice, OneThatIsVerifiedWhereThatIsRequired) {
  const AcquisitionRequest request = Request(CalibrationPolicy::kRequireVerified);
  CalibrationLabel verified = Label("verified");
  verified.verified = kNow - absl::Hours(1);
  const auto choice = ChooseCalibration({verified}, request, kNow);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_TRUE(choice->used->verified);
  EXPECT_FALSE(choice->warning);
  EXPECT_THAT(Refusal(Label("a"), request),
              AllOf(HasSubstr("requires a calibration: calibration 'a' is the newest that fits and "
                              "has not been verified"),
                    HasSubstr("`isocenter calibrate verify`")));
  // What was measured later was measured for a reason: the older one is not taken in its place.
  CalibrationLabel newer = Label("newer");
  newer.created += absl::Hours(1);
  EXPECT_THAT(Used({verified, newer}, request), HasSubstr("'newer' is the newest that fits and"));
  AcquisitionRequest named = request;
  named.calibration_name = "verified";
  EXPECT_EQ(Used({verified, newer}, named), "verified");
  // All else holds as where one is required.
  verified.valid_until = kNow;
  EXPECT_THAT(Refusal(verified, request), HasSubstr("which is not now"));
  EXPECT_THAT(Used({}, request), HasSubstr("FAILED_PRECONDITION"));
}

TEST(CalibrationChoice, AVerificationThatHasNotComeYetIsNone) {
  const AcquisitionRequest request = Request(CalibrationPolicy::kRequireVerified);
  CalibrationLabel label = Label("a");
  label.verified = kNow + absl::Hours(24);  // a clock of another time zone
  EXPECT_EQ(Used({label}, request), "a");
  label.verified = kNow + absl::Hours(25);
  EXPECT_THAT(Refusal(label, request),
              AllOf(HasSubstr("'a' was verified at 2027-01-16"), HasSubstr("has not come yet")));
  EXPECT_FALSE(ChooseCalibration({label}, Request(), kNow)->used->verified);
}

TEST(CalibrationChoice, WhatIsNotVerifiedIsUsedWithoutAWordWhereNobodyAsked) {
  for (const CalibrationPolicy policy : {CalibrationPolicy::kWarn, CalibrationPolicy::kRequire}) {
    const auto choice = *ChooseCalibration({Label("a")}, Request(policy), kNow);
    EXPECT_EQ(choice.used->name, "a");
    EXPECT_FALSE(choice.used->verified);
    EXPECT_FALSE(choice.warning);
  }
}

TEST(CalibrationChoice, WithoutAPolicyNothingIsTakenAndNothingMayBeNamed) {
  AcquisitionRequest request = Request(CalibrationPolicy::kNone);
  EXPECT_EQ(Used({Label("a")}, request), "none");
  EXPECT_THAT(ChooseCalibration({}, request, kNow)->warning->text,
              AllOf(HasSubstr("raw counts of detector mode '2x2' and are not corrected: protocol"),
                    HasSubstr("and none of station 'room1' is kept")));
  // Corrected before they came.
  request.detector_mode.clear();
  EXPECT_FALSE(ChooseCalibration({}, request, kNow)->warning);
  request.calibration_name = "a";
  EXPECT_THAT(Used({Label("a")}, request),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("the protocol does not correct")));
}

TEST(CalibrationChoice, ASetThatNobodyAsksForIsToldOf) {
  const AcquisitionRequest request = Request(CalibrationPolicy::kNone);
  const auto warning = [&](const CalibrationLabel& label, const AcquisitionRequest& of) {
    const auto choice = ChooseCalibration({label}, of, kNow);
    EXPECT_TRUE(choice.ok()) << choice.status();
    EXPECT_FALSE(choice->used);
    return choice->warning ? choice->warning->text : "";
  };
  EXPECT_THAT(warning(Label("a"), request),
              AllOf(HasSubstr("not corrected: calibration 'a' is kept and fits, but protocol '"),
                    HasSubstr("does not ask for one (corrections.calibration)")));
  CalibrationLabel other = Label("a");
  other.station_name = "room2";
  EXPECT_THAT(warning(other, request), HasSubstr("none of station 'room1' is kept"));
  CalibrationLabel expired = Label("a");
  expired.valid_until = kNow - absl::Hours(1);
  EXPECT_THAT(warning(expired, request), HasSubstr("'a' is valid from"));
  AcquisitionRequest integrals = request;
  integrals.acquisition.pixel_type = recon::PixelType::kFloat32LineIntegrals;
  EXPECT_EQ(warning(Label("a"), integrals), "");
}

// A set that was begun anew with what is quick to measure.
TEST(CalibrationChoice, PartsThatTheNewestLacksAreToldOf) {
  CalibrationLabel whole = Label("whole"), begun = Label("begun");
  whole.created -= absl::Hours(5);
  whole.parts = {"response", "water", "lag", "hounsfield"};
  begun.parts = {"response", "water", "bone"};
  auto choice = *ChooseCalibration({whole, begun}, Request(), kNow);
  EXPECT_EQ(choice.used->name, "begun");
  ASSERT_TRUE(choice.warning);
  EXPECT_EQ(choice.warning->kind, jobs::WarningKind::kCalibration);
  EXPECT_THAT(
      choice.warning->text,
      HasSubstr("'begun' is the newest that fits, and has no lag, hounsfield; 'whole' has"));
  AcquisitionRequest named = Request();
  named.calibration_name = "begun";
  EXPECT_FALSE(ChooseCalibration({whole, begun}, named, kNow)->warning);
  whole.withdrawn = true;
  EXPECT_FALSE(ChooseCalibration({whole, begun}, Request(), kNow)->warning);
  whole.withdrawn = false;
  whole.valid_until = kNow;
  EXPECT_FALSE(ChooseCalibration({whole, begun}, Request(), kNow)->warning);
}

TEST(CalibrationChoice, LineIntegralsHaveBeenCorrected) {
  AcquisitionRequest request = Request();
  request.acquisition.pixel_type = recon::PixelType::kFloat32LineIntegrals;
  EXPECT_THAT(Refusal(Label("a"), request), HasSubstr("they are line integrals"));
  request.calibration_policy = CalibrationPolicy::kWarn;
  const auto choice = *ChooseCalibration({Label("a")}, request, kNow);
  EXPECT_FALSE(choice.used);
  EXPECT_THAT(choice.warning->text, HasSubstr("they are line integrals"));
  request.calibration_name = "a";
  EXPECT_THAT(Used({Label("a")}, request), HasSubstr("INVALID_ARGUMENT"));
}

TEST(CalibrationChoice, ASetThatDoesNotKnowWaterIsToldOf) {
  ops::Calibration calibration;
  calibration.name = "monthly";
  const auto warning = CheckWater(calibration);
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(warning->kind, jobs::WarningKind::kCalibration);
  EXPECT_THAT(warning->text,
              AllOf(HasSubstr("calibration 'monthly' has no water polynomial: HU are off"),
                    HasSubstr("calibrate beam-hardening --into")));
  calibration.mu_water_per_mm = 0.02;
  EXPECT_FALSE(CheckWater(calibration).has_value());
}

TEST(CalibrationChoice, ATableOfOtherCorrectionsIsToldOf) {
  ops::Calibration calibration{.name = "monthly"};
  calibration.hounsfield = {.points = {{-990, -1000}, {0, 0}}, .made_with = {{}}};
  EXPECT_FALSE(CheckTable(Request(), calibration).has_value());
  calibration.water.coefficient = {1};
  const auto warning = CheckTable(Request(), calibration);
  ASSERT_TRUE(warning.has_value());
  EXPECT_EQ(warning->kind, jobs::WarningKind::kCalibration);
  EXPECT_THAT(warning->text, HasSubstr("water was not corrected then"));

  // The first volume is as the table's was; the refinement is not.
  calibration.water = {};
  AcquisitionRequest request = Request();
  request.refinement.emplace().settings = recon::SecondPassSettings{.bone = true};
  EXPECT_FALSE(CheckTable(request, calibration).has_value());
  request.refinement->settings = recon::SecondPassSettings{.scatter = true};
  ASSERT_TRUE(CheckTable(request, calibration).has_value());
  EXPECT_THAT(CheckTable(request, calibration)->text, HasSubstr("scatter was not corrected then"));
}

}  // namespace
}  // namespace isocenter::pipeline
