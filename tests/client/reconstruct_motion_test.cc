// isocenter reconstruct --motion, by the binary. What it reaches:
// tests/accuracy/motion_accuracy_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "client/formats/meta_image.h"
#include "tests/client/command.h"
#include "tests/client/xa_file.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

class ReconstructMotion : public testing::Test {
 protected:
  void SetUp() override {
    XaFile run;
    run.spheres = {{{20, 0, 0}, 12, 0.02}, {{-15, 10, 5}, 8, 0.03}};
    ASSERT_TRUE(WriteXa(run_, run));
  }

  Outcome Reconstruct(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"reconstruct", "--overwrite", run_, "--out", mha_, "--grid",
                                 "48x48x32", "--voxel-mm", "2.5"});
    return RunCommand(flags);
  }

  const TemporaryDirectory directory_;
  const std::string run_ = (directory_ / "run.dcm").string();
  const std::string mha_ = (directory_ / "volume.mha").string();
};

TEST_F(ReconstructMotion, LeavesWhatLiesStillAsItIs) {
  const std::string report = (directory_ / "report.json").string();
  const std::string poses = (directory_ / "poses.csv").string();
  ASSERT_EQ(Reconstruct({}).exit_code, 0);
  const auto first = formats::ReadMetaImage(mha_);
  const Outcome outcome = Reconstruct({"--motion", "--json", report, "--poses", poses});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("motion: none found that makes the volume clearly sharper"));
  EXPECT_EQ(formats::ReadMetaImage(mha_)->voxels, first->voxels);
  const auto json = nlohmann::json::parse(std::ifstream(report));
  EXPECT_FALSE(json["motion"]["found"].get<bool>());
  EXPECT_EQ(json["motion"]["largest_shift_mm"], 0);
  EXPECT_GT(json["motion"]["entropy_before"].get<double>(), 0);
  EXPECT_FALSE(json["motion"].contains("poses"));
  EXPECT_THAT(json["findings"].at(0).get<std::string>(), HasSubstr("motion: none found"));
  // The table is one that simulate reads.
  const Outcome simulated =
      RunCommand({"simulate", "--phantom", "cylinder", "--frames", "8", "--detector", "16x12",
                  "--motion", poses, "--out", (directory_ / "moved").string()});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
}

TEST_F(ReconstructMotion, SaysWithWhatItDoesNotGo) {
  for (const std::string flag : {"--metal", "--cone-beam", "--stripes"}) {
    const Outcome outcome = Reconstruct({"--motion", flag});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr(flag + " with --motion; legal is one of them"));
  }
  EXPECT_THAT(Reconstruct({"--motion", "--algorithm", "os_sart"}).err,
              HasSubstr("--motion with --algorithm os_sart; legal is fdk"));
  EXPECT_THAT(Reconstruct({"--poses", (directory_ / "poses.csv").string()}).err,
              HasSubstr("--poses without --motion, which finds them"));
  EXPECT_THAT(Reconstruct({"--motion", "--poses", (directory_ / "poses.txt").string()}).err,
              HasSubstr("--poses"));
}

}  // namespace
}  // namespace isocenter::client_test
