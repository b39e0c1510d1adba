// What a set was measured with, and scans that are beyond it.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "client/formats/file.h"
#include "tests/client/calibrate/calibrate_fixture.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Ranges : public Calibrate {
 protected:
  Outcome Water(const std::string& scan, const std::string& diameter_mm) {
    return RunCommand({"calibrate", "beam-hardening", "--scan", Path(scan), "--diameter-mm",
                       diameter_mm, "--into", Path("set"), "--json", Path("water.json")});
  }
  std::string Warned(const std::string& scan) {
    const Outcome outcome = RunCommand({"reconstruct", Path(scan), "--calibration", Path("set"),
                                        "--grid", "32x32x4", "--voxel-mm", "6", "--out",
                                        Path("v.mha"), "--overwrite", "--json", Path("v.json")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  }
};

TEST_F(Ranges, ThickerWaterThanTheSetsIsToldOf) {
  ASSERT_EQ(Detector(50, 71).exit_code, 0);
  Simulate("thin", 40, 71, {"--phantom", "cylinder", "--scale-mm", "60"});
  Simulate("thick", 40, 71, {"--phantom", "cylinder", "--scale-mm", "80"});
  const Outcome thin = Water("thin", "120");
  ASSERT_EQ(thin.exit_code, 0) << thin.err;
  EXPECT_THAT(thin.out, HasSubstr("beam hardening fitted up to 120 mm of water\n"));
  EXPECT_THAT(ReadBytes(directory_ / "water.json"),
              HasSubstr("\"ranges\": \"beam hardening fitted up to 120 mm of water\""));
  EXPECT_NEAR(Set().water().thickest_mm(), 120, 1);
  EXPECT_THAT(Warned("thin"), Not(HasSubstr("is thicker than calibration")));
  constexpr char kBeyond[] =
      "beyond 1.25 times the range of its beam hardening (120 mm of water; here up to 1";
  EXPECT_THAT(Warned("thick"),
              AllOf(HasSubstr("the patient, or metal, is thicker than calibration"),
                    HasSubstr(kBeyond), HasSubstr("legal is a set of thicker water")));
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr(kBeyond));

  // A set of before has no range.
  v1::CalibrationSet old = Set();
  old.mutable_water()->clear_thickest_mm();
  ASSERT_TRUE(formats::WriteText(Path("set"), wire::CalibrationFile(old)).ok());
  EXPECT_THAT(Warned("thick"), Not(HasSubstr("is thicker than calibration")));
  Simulate("step", 160, 71, {"--sweep", "step"});
  const Outcome lag =
      RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set")});
  ASSERT_EQ(lag.exit_code, 0) << lag.err;
  EXPECT_THAT(lag.out, HasSubstr("beam hardening: range unknown\n"));
  const Outcome thick = Water("thick", "160");
  ASSERT_EQ(thick.exit_code, 0) << thick.err;
  EXPECT_THAT(Warned("thick"), Not(HasSubstr("is thicker than calibration")));
}

TEST_F(Ranges, AnHuTableOfOtherCorrectionsIsToldOf) {
  ASSERT_EQ(Detector(50, 72).exit_code, 0);
  Simulate("water", 40, 72,
           {"--phantom", "cylinder", "--scale-mm", "80", "--truth", Path("t.mha"), "--truth-size",
            "64", "--truth-voxel-mm", "3"});
  WriteBytes(directory_ / "inserts", "water 0 0 0 20 4\nair 85 85 0 7 -980\n");
  const std::vector<std::string> table = {"calibrate",   "hu",        "--volume",
                                          Path("t.mha"), "--inserts", Path("inserts"),
                                          "--into",      Path("set"), "--replace"};
  constexpr char kStale[] = "was measured with other corrections than are applied now: ";
  // Without water, which is added later.
  ASSERT_EQ(RunCommand(table).exit_code, 0);
  EXPECT_TRUE(Set().hounsfield().has_made_with());
  EXPECT_THAT(Warned("water"), Not(HasSubstr(kStale)));
  ASSERT_EQ(Water("water", "160").exit_code, 0);
  EXPECT_THAT(Warned("water"), AllOf(HasSubstr(kStale), HasSubstr("water was not corrected then")));
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr(kStale));
  // Measured anew it fits, until water is measured anew.
  ASSERT_EQ(RunCommand(table).exit_code, 0);
  EXPECT_THAT(Warned("water"), Not(HasSubstr(kStale)));
  Simulate("other", 40, 72, {"--phantom", "cylinder", "--scale-mm", "70"});
  ASSERT_EQ(Water("other", "140").exit_code, 0);
  EXPECT_THAT(Warned("water"), AllOf(HasSubstr(kStale), HasSubstr("water was another then")));
  // Of a table of before nobody knows.
  v1::CalibrationSet old = Set();
  old.mutable_hounsfield()->clear_made_with();
  ASSERT_TRUE(formats::WriteText(Path("set"), wire::CalibrationFile(old)).ok());
  EXPECT_THAT(Warned("water"), Not(HasSubstr(kStale)));
}

}  // namespace
}  // namespace isocenter::client_test
