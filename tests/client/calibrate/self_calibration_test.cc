// isocenter reconstruct --self-calibrate, by the binary. What it reaches:
// tests/accuracy/self_calibration_accuracy_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/formats/meta_image.h"
#include "tests/client/command.h"
#include "tests/client/xa_file.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

class SelfCalibrate : public testing::Test {
 protected:
  void SetUp() override {
    XaFile run;
    run.spheres = {{{20, 0, 0}, 12, 0.02}, {{-15, 10, 5}, 8, 0.03}};
    ASSERT_TRUE(WriteXa(run_, run));
  }

  Outcome Reconstruct(std::vector<std::string> flags) const {
    return ReconstructTo(mha_, std::move(flags));
  }

  Outcome ReconstructTo(const std::string& out, std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"reconstruct", "--overwrite", run_, "--out", out, "--grid",
                                 "48x48x32", "--voxel-mm", "2.5"});
    return RunCommand(flags);
  }

  const TemporaryDirectory directory_;
  const std::string run_ = (directory_ / "run.dcm").string();
  const std::string mha_ = (directory_ / "volume.mha").string();
};

TEST_F(SelfCalibrate, LeavesTrueMatricesAsTheyAre) {
  const std::string report = (directory_ / "report.json").string();
  const std::string matrices = (directory_ / "arm.csv").string();
  ASSERT_EQ(Reconstruct({}).exit_code, 0);
  const auto first = formats::ReadMetaImage(mha_);
  const Outcome outcome =
      Reconstruct({"--self-calibrate", "--json", report, "--matrices-out", matrices});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("self-calibration: nothing found that makes the volume clearly sharper"));
  EXPECT_EQ(formats::ReadMetaImage(mha_)->voxels, first->voxels);
  const auto json = nlohmann::json::parse(std::ifstream(report));
  EXPECT_FALSE(json["self_calibration"]["found"].get<bool>());
  EXPECT_EQ(json["self_calibration"]["u_mm"], 0);
  EXPECT_GT(json["self_calibration"]["entropy_before"].get<double>(), 0);
  EXPECT_FALSE(json["self_calibration"].contains("moves"));
  EXPECT_THAT(json["findings"].at(0).get<std::string>(), HasSubstr("self-calibration: nothing"));
  // The table is one that --matrices reads, and of the same matrices.
  const Outcome again = Reconstruct({"--matrices", matrices});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(formats::ReadMetaImage(mha_)->voxels, first->voxels);
}

TEST_F(SelfCalibrate, LooksAtAnEarlierVolume) {
  const std::string earlier = (directory_ / "earlier.mha").string();
  ASSERT_EQ(ReconstructTo(earlier, {}).exit_code, 0);
  ASSERT_EQ(Reconstruct({}).exit_code, 0);
  const auto first = formats::ReadMetaImage(mha_);
  const std::string report = (directory_ / "report.json").string();
  const Outcome outcome =
      Reconstruct({"--self-calibrate", "--reference", earlier, "--json", report});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("in the reference volume the patient lies "));
  EXPECT_EQ(formats::ReadMetaImage(mha_)->voxels, first->voxels);
  const auto json = nlohmann::json::parse(std::ifstream(report));
  const auto& told = json["self_calibration"]["reference"];
  EXPECT_FALSE(told["taken"].get<bool>());
  EXPECT_GT(told["covered"].get<double>(), 0.9);
  EXPECT_GT(told["similarity_before"].get<double>(), 0.9);
  // Spheres fit as well turned about the line through them.
  for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(told["shift_mm"][axis].get<double>(), 0, 3);
}

TEST_F(SelfCalibrate, RefusesAnotherPatientsVolume) {
  XaFile other;
  other.spheres = {{{0, 0, 0}, 30, 0.02}, {{10, 15, -8}, 9, 0.03}};
  const std::string run = (directory_ / "other.dcm").string();
  ASSERT_TRUE(WriteXa(run, other));
  const std::string earlier = (directory_ / "other.mha").string();
  ASSERT_EQ(
      RunCommand({"reconstruct", run, "--out", earlier, "--grid", "48x48x32", "--voxel-mm", "2.5"})
          .exit_code,
      0);
  const Outcome outcome = Reconstruct({"--self-calibrate", "--reference", earlier});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err,
              HasSubstr("the reference volume does not show what the frames show: where it fits "
                        "best their edges correlate by 0."));
  EXPECT_FALSE(std::filesystem::exists(mha_));
}

TEST_F(SelfCalibrate, SaysWithWhatItDoesNotGo) {
  EXPECT_THAT(Reconstruct({"--self-calibrate", "--motion"}).err,
              HasSubstr("--self-calibrate with --motion; legal is one of them"));
  EXPECT_THAT(Reconstruct({"--self-calibrate", "--gates", "4"}).err,
              HasSubstr("--self-calibrate with --phase or --gates"));
  EXPECT_THAT(Reconstruct({"--reference", mha_}).err,
              HasSubstr("--reference without --self-calibrate, which looks at it"));
  EXPECT_THAT(Reconstruct({"--self-calibrate", "--reference", run_}).err,
              HasSubstr("is not a volume; legal is .mha"));
  EXPECT_THAT(Reconstruct({"--matrices-out", (directory_ / "arm.csv").string()}).err,
              HasSubstr("--matrices-out without --self-calibrate, which corrects them"));
  EXPECT_THAT(
      Reconstruct({"--self-calibrate", "--matrices-out", (directory_ / "arm.txt").string()}).err,
      HasSubstr("--matrices-out"));
}

}  // namespace
}  // namespace isocenter::client_test
