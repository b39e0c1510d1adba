// What belongs to the beam: lag and water, bone, HU.
#include "kernels/physics/beam.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "kernels/physics/tissue.h"
#include "kernels/physics/tungsten.h"
#include "tests/client/calibrate/calibrate_fixture.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(Calibrate, LagAndWaterAreAddedToTheSet) {
  ASSERT_EQ(Detector(50, 21).exit_code, 0);
  Simulate("step", 160, 21, {"--sweep", "step"});
  Simulate("water", 60, 21, {"--phantom", "cylinder", "--scale-mm", "80"});
  Outcome outcome = RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set"),
                                "--picture", Path("lag.png")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(ReadBytes(directory_ / "lag.png"), Set().picture_png());
  outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"), "--diameter-mm",
                        "160", "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the cylinder's axis is at x"));

  const ops::Calibration found = Corrections();
  ASSERT_TRUE(found.response.has_value());
  ASSERT_EQ(found.lag.size(), 2);
  EXPECT_NEAR(found.lag[0].share, 0.03, 0.001);
  EXPECT_NEAR(found.lag[0].release, 0.4, 0.015);
  EXPECT_NEAR(found.lag[1].share, 0.01, 0.001);
  EXPECT_NEAR(found.lag[1].release, 0.05, 0.004);
  // The bundle's is for 200 mm; 160 mm are attenuated by half a percent more.
  const auto description = formats::ReadBundleDescription(directory_ / "water");
  double mu = 0;
  ASSERT_TRUE(absl::SimpleAtod(description->at("mu_water_per_mm"), &mu));
  EXPECT_NEAR(found.mu_water_per_mm / mu, 1.005, 0.004);
  double at_160 = 0, power = 1;
  const double p = found.mu_water_per_mm * 160;
  for (const double c : found.water.coefficient) at_160 += c * (power *= p);
  EXPECT_NEAR(at_160 / p, 1, 1e-4);
  int detector_figures = 0, lag_figures = 0, water_figures = 0;
  const v1::CalibrationSet set = Set();
  for (const v1::QualityFigure& figure : set.quality()) {
    detector_figures += figure.name().rfind("detector: ", 0) == 0;
    lag_figures += figure.name().rfind("lag: ", 0) == 0;
    water_figures += figure.name().rfind("beam hardening: ", 0) == 0;
  }
  EXPECT_EQ(detector_figures, 17);
  EXPECT_EQ(lag_figures, 5);
  EXPECT_EQ(water_figures, 9);

  outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"), "--diameter-mm",
                        "150", "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("legal is within 0.4 % of the given 150 mm"));
  EXPECT_EQ(Corrections().mu_water_per_mm, found.mu_water_per_mm);
}

// All of the chain: a set of noisy sweeps, and a scan of water without noise by the same detector.
TEST_F(Calibrate, ASetMakesWaterFlatAndZero) {
  ASSERT_EQ(Detector(60, 61).exit_code, 0);
  Simulate("step", 160, 61, {"--sweep", "step"});
  Simulate("water", 60, 61, {"--phantom", "cylinder", "--scale-mm", "80"});
  const std::string quiet = absl::StrReplaceAll(kPhysics, {{"photons: 20000", ""}});
  WriteBytes(directory_ / "room", quiet);
  Simulate("scan", 120, 61, {"--phantom", "cylinder", "--scale-mm", "80"});
  const auto reconstruct = [&] {
    const Outcome outcome =
        RunCommand({"reconstruct", "--overwrite", Path("scan"), "--calibration", Path("set"),
                    "--grid", "64x64x8", "--voxel-mm", "3", "--out", Path("v.mha")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return CupOf(directory_ / "v.mha");
  };
  const Cup before = reconstruct();
  EXPECT_GT(before.border - before.center, 10);
  for (const std::vector<std::string>& part :
       {std::vector<std::string>{"lag", "--step", Path("step")},
        {"beam-hardening", "--scan", Path("water"), "--diameter-mm", "160"}}) {
    std::vector<std::string> command = {"calibrate"};
    command.insert(command.end(), part.begin(), part.end());
    command.insert(command.end(), {"--into", Path("set")});
    const Outcome outcome = RunCommand(command);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  const Cup after = reconstruct();
  EXPECT_NEAR(after.center, 0, 3);
  EXPECT_NEAR(after.border - after.center, 0, 3);
}

// Darks of another temperature, and flat frames of more dose than the scan's.
TEST_F(Calibrate, WaterOfAnotherOffsetOrDoseIsNotTakenSilently) {
  ASSERT_EQ(Detector(40, 25).exit_code, 0);
  const std::string room = kPhysics;
  const auto calibrate = [&](const std::string& physics, const std::string& set) {
    WriteBytes(directory_ / "room", physics);
    Simulate("water", 60, 25, {"--phantom", "cylinder", "--scale-mm", "80"});
    return RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"), "--diameter-mm",
                       "160", "--into", Path(set), "--out", Path("water.isocal"), "--overwrite"});
  };
  Outcome outcome = calibrate(absl::StrReplaceAll(room, {{"1200", "1400"}}), "set");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("warning: cupping before is -"),
                                 HasSubstr("dark frames of another temperature")));

  const std::string less = absl::StrReplaceAll(room, {{"dose_flicker", "dose: 0.8 dose_flicker"}});
  outcome = calibrate(less, "set");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("dose in the air beside the cylinder"));
  outcome = RunCommand({"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"),
                        "--station", "room3", "--mode", "bin2", "--kv", "90", "--valid-days", "30",
                        "--out", Path("no_strips")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("comment: --air-columns is 0"));
  outcome = calibrate(less, "no_strips");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("dose in the air beside the cylinder is 0."),
                                 HasSubstr("legal is 0.95 to 1.05"), HasSubstr("--air-columns N")));
}

// Beside the axis a pixel sees other chords from frame to frame, and keeps of those before.
TEST_F(Calibrate, ACylinderBesideTheAxisNeedsTheLagOfTheSet) {
  ASSERT_EQ(Detector(50, 22).exit_code, 0);
  Simulate("step", 160, 22, {"--sweep", "step"});
  WriteBytes(directory_ / "aside.csv", "0, 40,0,0, 0,0,0\n1, 40,0,0, 0,0,0\n");
  Simulate("water", 60, 22,
           {"--phantom", "cylinder", "--scale-mm", "60", "--motion", Path("aside.csv")});
  const std::vector<std::string> command = {"calibrate",   "beam-hardening", "--scan",
                                            Path("water"), "--diameter-mm",  "120",
                                            "--into",      Path("set")};
  Outcome outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("legal is "));
  ASSERT_EQ(
      RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set")}).exit_code, 0);
  outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the cylinder's axis is at x 40.0"));
}

// Steps that fill the middle of frames, in the beam of the sweeps.
TEST_F(Calibrate, BoneIsFittedToSteps) {
  ASSERT_EQ(Detector(50, 71).exit_code, 0);
  Simulate("water", 24, 71, {"--phantom", "cylinder", "--scale-mm", "80"});
  Simulate("shape", 2, 71, {"--phantom", "cylinder", "--scale-mm", "80"});
  const std::vector<std::string> command = {"calibrate",   "bone",   "--steps",
                                            Path("steps"), "--into", Path("set")};
  WriteBytes(directory_ / "steps", "nothing 20 0\n");
  Outcome outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("has no water polynomial; legal is one that"));
  outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"), "--diameter-mm",
                        "160", "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;

  const ops::Calibration set = Corrections();
  const auto header = formats::OpenBundle(directory_ / "shape").value()->header();
  const auto spectrum = physics::TungstenSpectrum({.kv = 90, .copper_mm = 0.1}).value();
  const auto beam = physics::Beam::Make(spectrum, 0.6, physics::TissueMaterials()).value();
  std::string table = "# acquisition water bone\n";
  for (const int water : {20, 60, 100}) {
    for (const int bone : {0, 5, 10, 20, 30}) {
      const std::vector<double> paths = {double(water), double(bone), 0};
      const double behind = beam.Behind(paths).signal;
      std::vector<uint16_t> counts(kPixels);
      for (size_t i = 0; i < kPixels; ++i) {
        const bool slab = std::abs(int(i % 160) - 80) < 50;
        const double air = set.response->air_counts[i] * (slab ? behind : 1);
        counts[i] = static_cast<uint16_t>(std::lround(set.response->offset_counts[i] + air));
      }
      const std::string name = absl::StrCat("w", water, "b", bone);
      auto sink = *formats::CreateBundle(directory_ / name, header, {});
      for (int k = 0; k < 2; ++k) {
        ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
      }
      ASSERT_TRUE(sink->Finish().ok());
      // In millimetres of a material of which one stands for two of bone.
      absl::StrAppend(&table, name, " ", water, " ", 0.5 * bone, "\n");
    }
  }
  WriteBytes(directory_ / "steps", table);
  std::vector<std::string> equivalent = command;
  equivalent.insert(equivalent.end(), {"--equivalent-mm", "2"});
  outcome = RunCommand(equivalent);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("steps off the table of the others"));
  const ops::Calibration found = Corrections();
  ASSERT_TRUE(found.bone.has_value());
  EXPECT_EQ(found.bone->most_bone_mm, 30);
  EXPECT_GT(found.bone->full_hu, 1000);
  EXPECT_EQ(Set().quality(Set().quality_size() - 1).name().rfind("bone: ", 0), 0u);
  EXPECT_EQ(Set().picture_png().substr(1, 3), "PNG");
  // A table that names what is not there, and one without enough steps.
  WriteBytes(directory_ / "steps", "w20b5 20 5\nnothing 20 10\n");
  outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("nothing"));
  WriteBytes(directory_ / "steps", "w20b5 20 5\n");
  EXPECT_THAT(RunCommand(command).err, HasSubstr("legal is 9 at least"));
  EXPECT_EQ(Corrections().bone->most_bone_mm, 30);
}

TEST_F(Calibrate, HuTakesInsertsOfAVolume) {
  ASSERT_EQ(Detector(50, 31).exit_code, 0);
  Simulate("water", 2, 31,
           {"--phantom", "cylinder", "--scale-mm", "80", "--truth", Path("t.mha"), "--truth-size",
            "64", "--truth-voxel-mm", "3"});
  WriteBytes(directory_ / "inserts",
             "# what, where, true HU\nwater 0 0 0 20 4\nair 85 85 0 7 -980\n");
  const std::vector<std::string> command = {
      "calibrate", "hu",        "--volume", Path("t.mha"), "--inserts",  Path("inserts"),
      "--into",    Path("set"), "--out",    Path("other"), "--overwrite"};
  Outcome outcome = RunCommand(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(Set().has_hounsfield());
  const auto other = wire::ReadCalibrationFile("", Path("other"));
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_EQ(other->hounsfield().point_size(), 2);
  EXPECT_NEAR(other->hounsfield().point(0).measured_hu(), -1000, 1e-3);
  EXPECT_EQ(other->hounsfield().point(0).true_hu(), -980);
  EXPECT_NEAR(other->hounsfield().point(1).measured_hu(), 0, 1e-3);

  WriteBytes(directory_ / "inserts", "water 0 0 0 20 0\nair 85 85\n");
  outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(Path("inserts")), HasSubstr("line 2")));
}

// Of a file of ours; others tell nothing, which is warned of.
TEST_F(Calibrate, HuHoldsAFileAgainstTheSet) {
  ASSERT_EQ(Detector(50, 33).exit_code, 0);
  Simulate("water", 2, 33,
           {"--phantom", "cylinder", "--scale-mm", "80", "--truth", Path("t.mha"), "--truth-size",
            "64", "--truth-voxel-mm", "3"});
  WriteBytes(directory_ / "inserts", "water 0 0 0 20 4\nair 85 85 0 7 -980\n");
  const auto fit = [&](const std::string& calibration, double kv) {
    auto volume = *formats::ReadMetaImage(directory_ / "t.mha");
    volume.facts = {.unit = "HU", .calibration = calibration, .tube_voltage_kv = kv};
    EXPECT_TRUE(formats::WriteMetaImage(directory_ / "told.mha", volume).ok());
    return RunCommand({"calibrate", "hu", "--volume", Path("told.mha"), "--inserts",
                       Path("inserts"), "--into", Path("set"), "--out", Path("other"),
                       "--overwrite"});
  };
  const std::string name = Set().name();
  Outcome outcome = fit(name, 90);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("calibration set")));
  EXPECT_EQ(wire::ReadCalibrationFile("", Path("other"))->hounsfield().point_size(), 2);
  outcome = fit("another", 90);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("it was made with another calibration set than"));
  outcome = fit("", 90);
  EXPECT_THAT(outcome.err, HasSubstr("it does not tell with which calibration set it was made"));
  outcome = fit(name, 120);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("told.mha"), HasSubstr("120 kV"),
                                 HasSubstr("legal is a volume of the set's own station and tube "
                                           "voltage")));
}

// The table of a volume that was made with one is nearly none, and bone of 1000 HU becomes 918.
TEST_F(Calibrate, HuReplacesATableOnlyWhenToldTo) {
  ASSERT_EQ(Detector(50, 32).exit_code, 0);
  Simulate("water", 2, 32,
           {"--phantom", "cylinder", "--scale-mm", "80", "--truth", Path("t.mha"), "--truth-size",
            "64", "--truth-voxel-mm", "3"});
  WriteBytes(directory_ / "inserts", "water 0 0 0 20 4\nair 85 85 0 7 -980\n");
  std::vector<std::string> command = {"calibrate",   "hu",        "--volume",
                                      Path("t.mha"), "--inserts", Path("inserts"),
                                      "--into",      Path("set")};
  ASSERT_EQ(RunCommand(command).exit_code, 0);
  const std::string before = ReadBytes(directory_ / "set");
  WriteBytes(directory_ / "inserts", "water 0 0 0 20 8\nair 85 85 0 7 -980\n");
  Outcome outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(absl::StrCat("the set ", Set().name(), " has an HU")),
                                 HasSubstr("or --replace, which states that --volume was made")));
  EXPECT_EQ(ReadBytes(directory_ / "set"), before);
  command.emplace_back("--replace");
  outcome = RunCommand(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Set().hounsfield().point(1).true_hu(), 8);
  EXPECT_THAT(outcome.err, HasSubstr("the set has no water polynomial"));
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("measure it anew")));
  EXPECT_THAT(outcome.err, HasSubstr("it does not tell with which calibration set it was made"));
  // What the table was measured with changes.
  Simulate("step", 160, 32, {"--sweep", "step"});
  outcome = RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set"), "--json",
                        Path("lag.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  constexpr char kOutdated[] =
      "the set's part of `isocenter calibrate hu` was measured before the lag that it has now";
  EXPECT_THAT(outcome.err, HasSubstr(kOutdated));
  EXPECT_THAT(ReadBytes(directory_ / "lag.json"), HasSubstr(kOutdated));
  // What a figure is judged by stands beside it.
  EXPECT_THAT(ReadBytes(directory_ / "lag.json"), HasSubstr("\"legal\": \"at least 95\""));
}

}  // namespace
}  // namespace isocenter::client_test
