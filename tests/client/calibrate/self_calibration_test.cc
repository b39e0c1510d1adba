// isocenter reconstruct --self-calibrate, by the binary. What it reaches:
// tests/accuracy/self_calibration_accuracy_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "client/cli/options/simulate_trajectory.h"
#include "client/formats/meta_image.h"
#include "kernels/geometry/trajectory.h"
#include "tests/client/command.h"
#include "tests/client/xa_file.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(outcome.err, HasSubstr("the patient lies where the reference volume has it"));
  EXPECT_EQ(formats::ReadMetaImage(mha_)->voxels, first->voxels);
  const auto json = nlohmann::json::parse(std::ifstream(report));
  const auto& told = json["self_calibration"]["reference"];
  EXPECT_FALSE(told["taken"].get<bool>());
  EXPECT_GT(told["covered"].get<double>(), 0.9);
  EXPECT_GT(told["similarity_before"].get<double>(), 0.9);
  // Spheres fit as well turned about the line through them.
  for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(told["shift_mm"][axis].get<double>(), 0);
}

/// A head, its matrices with all frames shifted on the detector, and a volume of it.
class ShiftedMatrices : public testing::Test {
 protected:
  static constexpr double kPitchMm = 2.464;

  void SetUp() override {
    ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--out", scan_, "--frames", "120",
                          "--detector", "155x120", "--pitch-mm", "2.464", "--photons", "40000",
                          "--trajectory", "circle", "--arc-deg", "200", "--matrices", true_})
                  .exit_code,
              0);
  }
  std::string Shifted(double u_px, double v_px) const {
    auto trajectory = ReadTrajectoryCsv(true_);
    EXPECT_TRUE(trajectory.ok()) << trajectory.status();
    for (ProjectionMatrix& matrix : *trajectory) {
      for (int i = 0; i < 4; ++i) {
        matrix.m[i] += u_px * matrix.m[8 + i];
        matrix.m[4 + i] += v_px * matrix.m[8 + i];
      }
    }
    const std::string path = directory_ / "shifted.csv";
    WriteBytes(path, cli::TrajectoryCsv(*trajectory));
    return path;
  }
  Outcome Reconstruct(std::vector<std::string> flags) const {
    flags.insert(flags.begin(),
                 {"reconstruct", scan_, "--overwrite", "--out", volume_, "--size", "96"});
    return RunCommand(flags);
  }

  const TemporaryDirectory directory_;
  const std::string scan_ = directory_ / "b", true_ = directory_ / "true.csv",
                    volume_ = directory_ / "v.mha";
};

// What it has taken out is no warning any more.
TEST_F(ShiftedMatrices, AreNoWarningAfterSelfCalibration) {
  const std::string shifted = Shifted(2, 0), report = directory_ / "report.json";
  constexpr char kMisfit[] = "the frames do not fit their matrices";
  const Outcome as_given = Reconstruct({"--matrices", shifted, "--json", report});
  EXPECT_THAT(as_given.err, HasSubstr(kMisfit));
  EXPECT_THAT(ReadBytes(report), HasSubstr(kMisfit));
  const Outcome repaired =
      Reconstruct({"--matrices", shifted, "--self-calibrate", "--json", report});
  ASSERT_EQ(repaired.exit_code, 0) << repaired.err;
  EXPECT_THAT(repaired.err, HasSubstr("self-calibration: the detector was -4.9"));
  EXPECT_THAT(repaired.err, Not(HasSubstr(kMisfit)));
  EXPECT_THAT(ReadBytes(report), Not(HasSubstr(kMisfit)));
}

TEST_F(ShiftedMatrices, AreNoPatientWhoLiesElsewhere) {
  const std::string earlier = directory_ / "earlier.mha", report = directory_ / "report.json";
  ASSERT_EQ(Reconstruct({}).exit_code, 0);
  std::filesystem::rename(volume_, earlier);
  const auto place = [&](double u_px, double v_px) {
    const Outcome outcome = Reconstruct({"--matrices", Shifted(u_px, v_px), "--self-calibrate",
                                         "--reference", earlier, "--json", report});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return std::pair(
        outcome.err,
        nlohmann::json::parse(ReadBytes(report))["self_calibration"]["reference"]["shift_mm"]);
  };
  const auto [along_u, u_mm] = place(2, 0);
  EXPECT_THAT(along_u, HasSubstr("the patient lies where the reference volume has it"));
  for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(u_mm[axis].get<double>(), 0);
  // Along the axis a detector and a patient look alike.
  const auto [along_v, v_mm] = place(0, 2);
  EXPECT_THAT(along_v, HasSubstr("what the frames show lies 3.1 mm and 0."));
  EXPECT_THAT(along_v, HasSubstr("or, along the axis, the detector does in all frames"));
  EXPECT_NEAR(std::abs(v_mm[2].get<double>()), 2 * kPitchMm * 750 / 1200, 0.1);
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
