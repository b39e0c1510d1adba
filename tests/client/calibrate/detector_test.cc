// What belongs to the detector: maps, defects, air, overexposure.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "client/formats/meta_image.h"
#include "kernels/physics/detector_model.h"
#include "tests/client/calibrate/calibrate_fixture.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// 50 frames leave 6/√50 = 0.85 counts of an offset; of a gain 0.9 %/√50 = 0.13 %.
TEST_F(Calibrate, DetectorFindsThePlantedMaps) {
  for (const uint64_t seed : {11, 12}) {
    const Outcome outcome = Detector(50, seed);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out,
                AllOf(HasSubstr("noise left in the air map"), HasSubstr("room3_bin2")));
    const v1::CalibrationSet set = Set();
    EXPECT_EQ(set.station_name(), "room3");
    EXPECT_EQ(set.detector_mode(), "bin2");
    EXPECT_EQ(set.tube_voltage_kv(), 90);
    EXPECT_EQ(set.air().columns(), 16);
    EXPECT_EQ(set.valid_until().seconds() - set.valid_from().seconds(), 30 * 24 * 3600);
    EXPECT_EQ(set.picture_png().substr(1, 3), "PNG");
    EXPECT_EQ(set.quality(0).name(), "detector: air");
    const ops::Calibration found = Corrections();
    const physics::DetectorMaps truth = physics::MakeDetectorMaps(Model(seed), kDetector);
    std::vector<bool> defective(kPixels);
    for (const int32_t pixel : found.defects.pixels) defective[pixel] = true;
    double offset = 0, gain = 0;
    int good = 0, missed = 0;
    for (size_t i = 0; i < kPixels; ++i) {
      missed += truth.states[i] != physics::PixelState::kGood && !defective[i];
      if (defective[i]) continue;
      ++good;
      const double o = found.response->offset_counts[i] - truth.offset_counts[i];
      const double g = found.response->air_counts[i] / set.quality(0).value() / truth.gain[i] - 1;
      offset += o * o;
      gain += g * g;
    }
    EXPECT_EQ(missed, 0);
    EXPECT_GT(good, 0.98 * kPixels);
    EXPECT_LT(std::sqrt(offset / good), 1.0);
    EXPECT_LT(std::sqrt(gain / good), 0.002);
  }
}

// Air would count as overexposed in every scan.
TEST_F(Calibrate, AFullScaleThatTheFlatFramesReachIsRefused) {
  ASSERT_EQ(Detector(50, 11).exit_code, 0);
  const auto with = [&](const std::string& counts) {
    return RunCommand({"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"),
                       "--station", "room3", "--mode", "bin2", "--valid-days", "30", "--full-scale",
                       counts, "--overwrite", "--out", Path("set")});
  };
  const Outcome refused = with("100");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--full-scale is 100 counts, and 5 % of the pixels read "));
  EXPECT_EQ(with("65000").exit_code, 0);
  EXPECT_EQ(Set().response().full_scale_counts(), 65000);
}

// A fifth less in a part of the flat frames: every volume would have it the other way round.
TEST_F(Calibrate, AnObjectInTheFlatSweepIsToldWithItsPlace) {
  const Outcome clean = Detector(50, 35);
  ASSERT_EQ(clean.exit_code, 0) << clean.err;
  EXPECT_EQ(clean.err.find("warning"), std::string::npos) << clean.err;
  {
    auto source = *formats::OpenBundle(directory_ / "flat");
    auto sink = *formats::CreateBundle(directory_ / "shaded", source->header(), {});
    std::vector<uint16_t> counts(kPixels);
    for (int k = 0; k < 50; ++k) {
      ASSERT_TRUE(source->Read(k, std::as_writable_bytes(std::span(counts))).ok());
      for (int v = 40; v < 80; ++v) {
        for (int u = 24; u < 80; ++u) {
          uint16_t& count = counts[v * 160 + u];
          if (count > 1200) count = static_cast<uint16_t>(1200 + 0.8 * (count - 1200));
        }
      }
      ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
    }
    ASSERT_TRUE(sink->Finish().ok());
  }
  const Outcome outcome = RunCommand({"calibrate", "detector", "--dark", Path("dark"), "--flat",
                                      Path("shaded"), "--station", "room3", "--mode", "bin2",
                                      "--valid-days", "30", "--out", Path("shaded_set")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("warning: the air map has a step of 2"),
                    HasSubstr("within columns 24 to 79 of rows 40 to 79 (10.9 % of the detector)"),
                    HasSubstr("Was an object in the beam of the flat frames?")));
}

TEST_F(Calibrate, ADetectorsSetIsOfWhatItsSweepsSay) {
  ASSERT_EQ(Detector(50, 96).exit_code, 0);
  const auto detector = [&](const std::string& sweeps, const std::string& station,
                            const std::string& mode, std::vector<std::string> more) {
    more.insert(more.begin(), {"calibrate", "detector", "--dark", Path(sweeps + "dark"), "--flat",
                               Path(sweeps + "flat"), "--station", station, "--mode", mode,
                               "--valid-days", "30", "--out", Path("made")});
    std::filesystem::remove(directory_ / "made");
    return RunCommand(more);
  };
  Outcome outcome = detector("", "room4", "binX", {"--kv", "120"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("station 'room4', and the acquisition of 'room3'"),
                                 HasSubstr("mode 'binX', and the acquisition of 'bin2'"),
                                 HasSubstr("tube voltage 120 kV, and the acquisition of 90 kV"),
                                 HasSubstr("does not fit --station, --mode and --kv")));
  outcome = detector("", "room3", "bin2", {"--kv", "0.09"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--kv is 0.09 kV; legal is 10 to 300, or 0 for any"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "made"));
  const auto made_kv = [&] {
    return wire::ReadCalibrationFile("", Path("made"))->tube_voltage_kv();
  };
  EXPECT_EQ(detector("", "room3", "bin2", {}).exit_code, 0);
  EXPECT_EQ(made_kv(), 90);
  EXPECT_EQ(detector("", "room3", "bin2", {"--kv", "0"}).exit_code, 0);
  EXPECT_EQ(made_kv(), 0);
  // Headers that say nothing fit everything.
  Relabel("dark", "silent_dark", "", "", 0);
  Relabel("flat", "silent_flat", "", "", 0);
  EXPECT_EQ(detector("silent_", "room4", "binX", {"--kv", "120"}).exit_code, 0);
  EXPECT_EQ(made_kv(), 120);
}

constexpr char kBowTie[] =
    " bow_tie { material: 'aluminium' sway_deg: $0 point { fan_deg: -9 mm: 8 } "
    "point { fan_deg: 0 mm: 1 } point { fan_deg: 9 mm: 8 } }";

// A bow-tie that an arm carries aslant: what flat frames of an arm at rest have not is in the
// sweep, and a scan that goes where the sweep did not is refused.
TEST_F(Calibrate, AirOfASweepIsAddedToTheSet) {
  WriteBytes(directory_ / "room", absl::StrCat(kPhysics, absl::Substitute(kBowTie, 0)));
  const Outcome detector = Detector(60, 91);
  ASSERT_EQ(detector.exit_code, 0) << detector.err;
  WriteBytes(directory_ / "room", absl::StrCat(kPhysics, absl::Substitute(kBowTie, 1)));
  Simulate("empty", 120, 91, {"--sweep", "flat"});
  const Outcome outcome =
      RunCommand({"calibrate", "air", "--sweep", Path("empty"), "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("empty beam off the air map"), HasSubstr("angles")));
  const ops::Calibration found = Corrections();
  ASSERT_GT(found.air_sweep.angles.size(), 40u);
  const auto [least, most] = std::ranges::minmax(found.air_sweep.relative);
  EXPECT_LT(least, 0.98);
  EXPECT_GT(most, 1.02);
  const auto reconstruct = [&](const std::string& scan) {
    return RunCommand({"reconstruct", "--overwrite", Path(scan), "--calibration", Path("set"),
                       "--grid", "64x64x8", "--voxel-mm", "3", "--out", Path("v.mha")});
  };
  Simulate("scan", 60, 91, {"--phantom", "cylinder", "--scale-mm", "80"});
  const Outcome made = reconstruct("scan");
  EXPECT_EQ(made.exit_code, 0) << made.err;

  Simulate("part", 60, 91, {"--sweep", "flat", "--arc-deg", "90", "--start-deg", "20"});
  ASSERT_EQ(
      RunCommand({"calibrate", "air", "--sweep", Path("part"), "--into", Path("set")}).exit_code,
      0);
  const Outcome refused = reconstruct("scan");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("where the calibration's air sweep saw nothing; legal is 20.0 "));
}

// Scans of twice the dose of sweeps, on a detector that ends a tenth above: with what frames tell
// of their dose, water is water up to its skin.
TEST_F(Calibrate, OverexposedFramesThatTellTheirDoseAreRecovered) {
  const std::string bounded =
      absl::StrReplaceAll(kPhysics, {{"photons: 20000", "saturation_counts: 50000"}});
  WriteBytes(directory_ / "room", bounded);
  ASSERT_EQ(Detector(20, 93).exit_code, 0);
  const auto scan = [&](const std::string& more) {
    WriteBytes(directory_ / "room", absl::StrReplaceAll(bounded, {{"dose_flicker", more}}));
    Simulate("scan", 120, 93, {"--phantom", "cylinder", "--scale-mm", "80"});
  };
  const auto reconstruct = [&] {
    const Outcome outcome =
        RunCommand({"reconstruct", "--overwrite", Path("scan"), "--calibration", Path("set"),
                    "--grid", "64x64x8", "--voxel-mm", "3", "--out", Path("v.mha")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return CupOf(directory_ / "v.mha");
  };
  scan("dose_flicker");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "scan" / "doses.txt"));
  const Cup expected = reconstruct();
  scan("tells_dose: true dose: 2 dose_flicker");
  EXPECT_TRUE(std::filesystem::exists(directory_ / "scan" / "doses.txt"));
  const Cup cut = reconstruct();
  v1::CalibrationSet set = Set();
  set.mutable_response()->set_full_scale_counts(50000);
  WriteBytes(directory_ / "set", wire::CalibrationFile(set));
  const Cup recovered = reconstruct();
  std::printf("water's centre and border, HU: %.1f %.1f, cut %.1f %.1f, recovered %.1f %.1f\n",
              expected.center, expected.border, cut.center, cut.border, recovered.center,
              recovered.border);
  EXPECT_GT(std::abs(cut.center - expected.center), 20);
  EXPECT_NEAR(recovered.center, expected.center, 4);
  // A straight line misses a little of the skin that was hidden.
  EXPECT_LT(std::abs(recovered.border - expected.border),
            0.1 * std::abs(cut.border - expected.border));

  WriteBytes(directory_ / "scan" / "doses.txt", "1\n2\n");
  EXPECT_THAT(RunCommand({"reconstruct", "--overwrite", Path("scan"), "--out", Path("v.mha")}).err,
              HasSubstr("doses.txt has 2 doses; legal is one for each of 120 frames"));
}

// What the user guide says of it: nothing in a scan tells, and water does.
TEST_F(Calibrate, AnOffsetThatDriftedIsSeenInWaterAlone) {
  ASSERT_EQ(Detector(50, 37).exit_code, 0);
  std::vector<std::string> said;
  const auto water = [&](const std::string& scan) {
    Simulate(scan, 120, 37, {"--phantom", "cylinder", "--scale-mm", "80"});
    const Outcome outcome =
        RunCommand({"reconstruct", "--overwrite", Path(scan), "--calibration", Path("set"),
                    "--grid", "64x64x8", "--voxel-mm", "3", "--out", Path("v.mha")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    // Without what is no warning, of which figures are of the noise.
    said.push_back(outcome.err.substr(0, outcome.err.find("isocenter: ")));
    return CupOf(directory_ / "v.mha");
  };
  const Cup before = water("before");
  WriteBytes(directory_ / "room",
             absl::StrReplaceAll(kPhysics, {{"offset_counts: 1200", "offset_counts: 1500"}}));
  const Cup after = water("after");
  printf("water %.1f and %.1f HU, border less middle %.1f and %.1f\n", before.center, after.center,
         before.border - before.center, after.border - after.center);
  EXPECT_THAT(said[0], HasSubstr("has no water polynomial"));
  EXPECT_EQ(said[0], said[1]);
  // 0.75 % of air. Of the daily test's tolerances, 4 HU and 2 HU, several.
  EXPECT_LT(after.center, before.center - 40);
  EXPECT_GT(after.border - after.center, before.border - before.center + 10);
}

// Pixels that die after the set was made: found, interpolated, and told.
TEST_F(Calibrate, ReconstructFindsNewDefects) {
  ASSERT_EQ(Detector(50, 81).exit_code, 0);
  Simulate("scan", 40, 81, {"--phantom", "cylinder", "--scale-mm", "80"});
  std::vector<size_t> died;
  for (const size_t pixel : {60 * 160 + 75, 60 * 160 + 76, 66 * 160 + 98}) {
    const auto known = Corrections().defects.pixels;
    if (std::find(known.begin(), known.end(), pixel) == known.end()) died.push_back(pixel);
  }
  auto source = *formats::OpenBundle(directory_ / "scan");
  auto sink = *formats::CreateBundle(directory_ / "later", source->header(), {});
  std::vector<uint16_t> counts(kPixels);
  for (int k = 0; k < 40; ++k) {
    ASSERT_TRUE(source->Read(k, std::as_writable_bytes(std::span(counts))).ok());
    for (const size_t pixel : died) counts[pixel] = 1200;
    ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
  }
  ASSERT_TRUE(sink->Finish().ok());
  std::string out;
  const auto reconstruct = [&](const std::string& scan, std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {"reconstruct", "--overwrite", Path(scan), "--calibration", Path("set"), "--grid",
                  "64x64x8", "--voxel-mm", "3", "--out", Path("v.mha")});
    const Outcome outcome = RunCommand(flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    out = outcome.out;
    return formats::ReadMetaImage(directory_ / "v.mha")->voxels;
  };
  const auto rms = [](const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    return std::sqrt(sum / static_cast<double>(a.size()));
  };
  const auto before = reconstruct("scan", {"--find-defects"});
  EXPECT_THAT(out, HasSubstr("0 new defective pixels\n"));
  EXPECT_EQ(reconstruct("scan", {}), before);
  const double wrong = rms(reconstruct("later", {}), before);
  const double found = rms(reconstruct("later", {"--find-defects"}), before);
  EXPECT_THAT(out,
              HasSubstr(absl::StrCat(died.size(), " new defective pixels, the first in column ",
                                     died[0] % 160, " of row ", died[0] / 160)));
  EXPECT_LT(found, 0.05 * wrong);
}

TEST_F(Calibrate, RefusesSweepsThatAreNotGoodEnough) {
  Outcome outcome = Detector(10, 41);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("noise left in the air map is 0."),
                                 HasSubstr("legal is at most 0.2 %"), HasSubstr("would do")));
  outcome = Detector(9, 41);
  EXPECT_THAT(outcome.err, HasSubstr("--dark has 9 frames; legal is 10 to 10000"));
  outcome = RunCommand({"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"),
                        "--station", "room 3", "--mode", "bin2", "--valid-days", "30", "--name",
                        "a", "--out", Path("set")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--station is 'room 3'; legal are"));
  outcome = RunCommand({"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"),
                        "--station", "a", "--mode", "b", "--valid-days", "30", "--air-columns",
                        "90", "--out", Path("set")});
  EXPECT_THAT(outcome.err, HasSubstr("air.columns is 90; legal is 16 to 80"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "set"));
  outcome = RunCommand({"calibrate", "lag", "--step", Path("dark"), "--into", Path("dark")});
  EXPECT_EQ(outcome.exit_code, 1);
  outcome = RunCommand({"calibrate", "lag", "--step", Path("dark"), "--into", Path("none")});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("none"));
}

}  // namespace
}  // namespace isocenter::client_test
