// `isocenter calibrate`: simulated sweeps and scans become a set, which is held against what was
// planted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
#include "kernels/backends.h"
#include "kernels/calibrate/scatter/scatter_fit.h"
#include "kernels/calibrate/transmission.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/detector_model.h"
#include "kernels/physics/readout.h"
#include "kernels/physics/tissue.h"
#include "kernels/physics/tungsten.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Detector kDetector{.columns = 160, .rows = 128, .pitch_u_mm = 2.4, .pitch_v_mm = 2.4};
constexpr size_t kPixels = 160 * 128;

physics::DetectorModel Model(uint64_t seed) {
  return {.signal_counts = 40000,
          .photons = 20000,
          .electronic_counts = 6,
          .offset_counts = 1200,
          .offset_spread_counts = 40,
          .gain_spread = 0.05,
          .defective_pixels = 0.001,
          .dead_lines = 1,
          .dead_clusters = 1,
          .lag = {{0.03, 0.4}, {0.01, 0.05}},
          .dose_flicker = 0.1,
          .seed = seed};
}

constexpr char kPhysics[] =
    "tube { kv: 90 copper_mm: 0.1 } detector { signal_counts: 40000 photons: 20000 "
    "electronic_counts: 6 offset_counts: 1200 offset_spread_counts: 40 gain_spread: 0.05 "
    "defective_pixels: 0.001 dead_lines: 1 dead_clusters: 1 dose_flicker: 0.1 "
    "lag { share: 0.03 release: 0.4 } lag { share: 0.01 release: 0.05 } }";

class Calibrate : public testing::Test {
 protected:
  void SetUp() override { WriteBytes(directory_ / "room", kPhysics); }

  std::string Path(const std::string& name) { return directory_ / name; }
  void Simulate(const std::string& name, int frames, uint64_t seed, std::vector<std::string> what) {
    what.insert(what.begin(), {"simulate",        "--out",
                               Path(name),        "--overwrite",
                               "--physics",       Path("room"),
                               "--frames",        absl::StrCat(frames),
                               "--seed",          absl::StrCat(seed),
                               "--detector",      "160x128",
                               "--pitch-mm",      "2.4",
                               "--trajectory",    "circle",
                               "--station",       "room3",
                               "--detector-mode", "bin2",
                               "--tube-voltage",  "90"});
    const Outcome outcome = RunCommand(what);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  Outcome Detector(int frames, uint64_t seed) {
    Simulate("dark", frames, seed, {"--sweep", "dark"});
    Simulate("flat", frames, seed, {"--sweep", "flat"});
    return RunCommand({"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"),
                       "--station", "room3", "--mode", "bin2", "--kv", "90", "--valid-days", "30",
                       "--air-columns", "16", "--overwrite", "--out", Path("set")});
  }
  /// The bundle NAME with another station, detector mode and tube voltage in its header.
  void Relabel(const std::string& name, const std::string& as, const std::string& station,
               const std::string& mode, double kv) {
    auto source = *formats::OpenBundle(directory_ / name);
    v1::AcquisitionHeader header = source->header();
    header.set_station_name(station);
    header.set_detector_mode(mode);
    header.set_tube_voltage_kv(kv);
    auto sink = *formats::CreateBundle(directory_ / as, header, {});
    std::vector<uint16_t> counts(kPixels);
    for (uint32_t k = 0; k < header.frame_count(); ++k) {
      ASSERT_TRUE(source->Read(k, std::as_writable_bytes(std::span(counts))).ok());
      ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
    }
    ASSERT_TRUE(sink->Finish().ok());
  }
  v1::CalibrationSet Set() {
    auto set = wire::ReadCalibrationFile("--into", Path("set"));
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() ? *std::move(set) : v1::CalibrationSet();
  }
  ops::Calibration Corrections() {
    auto calibration = wire::CalibrationFromProto(Set());
    EXPECT_TRUE(calibration.ok()) << calibration.status();
    return calibration.ok() ? *std::move(calibration) : ops::Calibration();
  }

  TemporaryDirectory directory_;
};

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
  EXPECT_EQ(detector_figures, 15);
  EXPECT_EQ(lag_figures, 5);
  EXPECT_EQ(water_figures, 5);

  outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"), "--diameter-mm",
                        "150", "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("legal is within 1 % of the given 150 mm"));
  EXPECT_EQ(Corrections().mu_water_per_mm, found.mu_water_per_mm);
}

/// Means of a volume within 30 mm of the axis, and between 55 and 70 mm.
struct Cup {
  double center = 0, border = 0;
};
Cup CupOf(const std::filesystem::path& path) {
  const auto volume = formats::ReadMetaImage(path);
  EXPECT_TRUE(volume.ok()) << volume.status();
  Cup cup;
  int center = 0, border = 0;
  for (int64_t i = 0; i < volume->grid.voxels(); ++i) {
    const Vec3 at =
        volume->grid.VoxelToWorld(static_cast<double>(i % 64), static_cast<double>(i / 64 % 64), 0);
    const double radius = std::hypot(at.x, at.y);
    if (radius < 30) {
      cup.center += volume->voxels[i];
      ++center;
    } else if (radius > 55 && radius < 70) {
      cup.border += volume->voxels[i];
      ++border;
    }
  }
  return {cup.center / center, cup.border / border};
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
        RunCommand({"reconstruct", Path("scan"), "--calibration", Path("set"), "--grid", "64x64x8",
                    "--voxel-mm", "3", "--out", Path("v.mha")});
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

// A polynomial of 130 kV in a set of 90 kV made water of 83 HU, without a word.
TEST_F(Calibrate, SweepsOfAnotherStationModeOrTubeVoltageAreRefused) {
  ASSERT_EQ(Detector(50, 95).exit_code, 0);
  v1::CalibrationSet set = Set();
  set.mutable_water()->add_coefficient(1);
  set.mutable_water()->set_mu_water_per_mm(0.02);
  WriteBytes(directory_ / "set", wire::CalibrationFile(set));
  WriteBytes(directory_ / "steps", "w130 20 0\n");
  Relabel("flat", "w130", "room3", "bin2", 130);
  Relabel("flat", "of_room9", "room9", "bin9", 90);
  const std::string before = ReadBytes(directory_ / "set");
  for (const std::vector<std::string>& part :
       {std::vector<std::string>{"air", "--sweep", Path("w130")},
        {"lag", "--step", Path("w130")},
        {"glare", "--disk", Path("w130")},
        {"beam-hardening", "--scan", Path("w130"), "--diameter-mm", "160"},
        {"bone", "--steps", Path("steps")},
        {"scatter", "--with", Path("flat"), "--without", Path("w130")},
        {"scatter-model", "--with", Path("w130"), "--without", Path("flat")}}) {
    std::vector<std::string> command = {"calibrate"};
    command.insert(command.end(), part.begin(), part.end());
    command.insert(command.end(), {"--into", Path("set")});
    const Outcome outcome = RunCommand(command);
    EXPECT_EQ(outcome.exit_code, 1) << part[0];
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(absl::StrCat(Path("w130"), ": calibration '")),
                                   HasSubstr("tube voltage 90 kV, and the acquisition of 130 kV"),
                                   HasSubstr("begins a set of their own")));
  }
  Outcome outcome =
      RunCommand({"calibrate", "lag", "--step", Path("of_room9"), "--into", Path("set")});
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("station 'room3', and the acquisition of 'room9'"),
                                 HasSubstr("mode 'bin2', and the acquisition of 'bin9'")));
  EXPECT_EQ(ReadBytes(directory_ / "set"), before);
  outcome =
      RunCommand({"calibrate", "geometry", "--sweep", Path("flat"), "--beads", "helix", "--station",
                  "room4", "--mode", "bin2", "--valid-days", "90", "--out", Path("arm.isocal")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("station 'room4', and the acquisition of 'room3'"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "arm.isocal"));
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

// As the service: a set that does not fit is refused, one that is not valid now said so.
TEST_F(Calibrate, ReconstructTakesOnlySetsThatFit) {
  ASSERT_EQ(Detector(50, 97).exit_code, 0);
  Simulate("scan", 40, 97, {"--phantom", "cylinder", "--scale-mm", "80"});
  Relabel("scan", "w130", "room3", "bin2", 130);
  Relabel("scan", "of_room5", "room5", "bin1", 90);
  Relabel("scan", "silent", "", "bin2", 0);
  const auto reconstruct = [&](const std::string& scan) {
    std::filesystem::remove(directory_ / "v.mha");
    return RunCommand({"reconstruct", Path(scan), "--calibration", Path("set"), "--grid", "32x32x4",
                       "--voxel-mm", "6", "--out", Path("v.mha"), "--json", Path("v.json")});
  };
  Outcome outcome = reconstruct("w130");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr(absl::StrCat("calibration '", Set().name(), "' does not fit: it is")),
                    HasSubstr("of tube voltage 90 kV, and the acquisition of 130 kV")));
  outcome = reconstruct("of_room5");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("station 'room3', and the acquisition of 'room5'"),
                                 HasSubstr("mode 'bin2', and the acquisition of 'bin1'")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "v.mha"));
  outcome = reconstruct("scan");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr("\"warnings\": []"));
  outcome = reconstruct("silent");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  constexpr char kUntold[] = "the acquisition does not tell its station, tube voltage: that";
  EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("warning: ", kUntold)));
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr(kUntold));

  v1::CalibrationSet expired = Set();
  wire::SetTime(absl::FromUnixSeconds(0), *expired.mutable_valid_from());
  wire::SetTime(absl::FromUnixSeconds(86400), *expired.mutable_valid_until());
  WriteBytes(directory_ / "set", wire::CalibrationFile(expired));
  outcome = reconstruct("scan");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  constexpr char kExpired[] =
      "is valid from 1970-01-01 00:00 UTC to 1970-01-02 00:00 UTC, which is not now; it is used "
      "all the same";
  EXPECT_THAT(outcome.err, HasSubstr(kExpired));
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr(kExpired));
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
    return RunCommand({"reconstruct", Path(scan), "--calibration", Path("set"), "--grid", "64x64x8",
                       "--voxel-mm", "3", "--out", Path("v.mha")});
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
        RunCommand({"reconstruct", Path("scan"), "--calibration", Path("set"), "--grid", "64x64x8",
                    "--voxel-mm", "3", "--out", Path("v.mha")});
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
  EXPECT_THAT(RunCommand({"reconstruct", Path("scan"), "--out", Path("v.mha")}).err,
              HasSubstr("doses.txt has 2 doses; legal is one for each of 120 frames"));
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
    flags.insert(flags.begin(), {"reconstruct", Path(scan), "--calibration", Path("set"), "--grid",
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

// What kernels make of the primary of a water cylinder is added to it, and found again.
TEST_F(Calibrate, ScatterIsFittedToAPair) {
  ASSERT_EQ(Detector(50, 51).exit_code, 0);
  Simulate("water", 24, 51, {"--phantom", "cylinder", "--scale-mm", "80"});
  Outcome outcome = RunCommand({"calibrate", "scatter", "--with", Path("water"), "--without",
                                Path("water"), "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("does not know water's attenuation"));
  outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"), "--diameter-mm",
                        "160", "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;

  const ops::Calibration set = Corrections();
  const ops::ScatterKernels planted{.groups = {{.amplitude = 0.06,
                                                .alpha = 0.5,
                                                .beta = 1,
                                                .narrow_sigma_mm = 40,
                                                .wide_sigma_mm = 120,
                                                .wide_share = 0.5}},
                                    .mu_water_per_mm = set.mu_water_per_mm,
                                    .gamma_per_mm = 0.001};
  const calibrate::CoarseShape shape(kDetector);
  auto source = *formats::OpenBundle(directory_ / "water");
  auto sink = *formats::CreateBundle(directory_ / "scattered", source->header(), {});
  std::vector<uint16_t> counts(kPixels);
  for (int k = 0; k < 24; ++k) {
    ASSERT_TRUE(source->Read(k, std::as_writable_bytes(std::span(counts))).ok());
    double dose = 0;
    const auto frame =
        *calibrate::Transmission(counts, *set.response, set.defects, kDetector, &dose);
    const std::vector<double> scatter =
        calibrate::PredictScatter(planted, shape, calibrate::BlockMeans(frame, kDetector));
    for (size_t i = 0; i < kPixels; ++i) {
      const double added = scatter[i / 160 / 16 * shape.columns + i % 160 / 16];
      counts[i] = static_cast<uint16_t>(
          std::min(65535.0, counts[i] + added * dose * set.response->air_counts[i]));
    }
    ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
  }
  ASSERT_TRUE(sink->Finish().ok());

  outcome = RunCommand({"calibrate", "scatter", "--with", Path("scattered"), "--without",
                        Path("water"), "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const ops::Calibration found = Corrections();
  ASSERT_TRUE(found.scatter.has_value());
  const v1::CalibrationSet label = Set();
  double missed = 100;
  for (const v1::QualityFigure& figure : label.quality()) {
    if (figure.name() == "scatter: scatter that the kernels miss") missed = figure.value();
  }
  EXPECT_LT(missed, 3);
  outcome = RunCommand({"calibrate", "scatter", "--with", Path("water"), "--without", Path("water"),
                        "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("of air; legal is 0.1 % at least"));
}

TEST_F(Calibrate, ScatterMayBeStatedAsAFraction) {
  ASSERT_EQ(Detector(50, 71).exit_code, 0);
  Simulate("water", 24, 71, {"--phantom", "cylinder", "--scale-mm", "80"});
  const std::vector<std::string> command = {"calibrate", "scatter", "--fraction",
                                            "0.4",       "--into",  Path("set")};
  EXPECT_THAT(RunCommand(command).err, HasSubstr("does not know water's attenuation"));
  Outcome outcome = RunCommand({"calibrate", "beam-hardening", "--scan", Path("water"),
                                "--diameter-mm", "160", "--into", Path("set")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = RunCommand(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("as stated, not measured"));
  const ops::Calibration found = Corrections();
  ASSERT_TRUE(found.scatter.has_value());
  ASSERT_EQ(found.scatter->groups.size(), 2u);
  EXPECT_EQ(found.scatter->groups[0].amplitude, 0);
  EXPECT_EQ(found.scatter->groups[1].amplitude, 0.4);
  EXPECT_EQ(found.scatter->groups[1].beta, 0);
  EXPECT_EQ(found.scatter->groups[1].narrow_sigma_mm, 100);
  EXPECT_EQ(Set().picture_png().substr(1, 3), "PNG");

  outcome = RunCommand({"calibrate", "scatter", "--into", Path("set")});
  EXPECT_THAT(outcome.err, HasSubstr("--fraction not at all; legal is either"));
  std::vector<std::string> both = command;
  both.insert(both.end(), {"--with", Path("water"), "--without", Path("water")});
  EXPECT_THAT(RunCommand(both).err, HasSubstr("--fraction as well; legal is either"));
  EXPECT_THAT(RunCommand({"calibrate", "scatter", "--fraction", "7", "--into", Path("set")}).err,
              HasSubstr("5"));
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
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("nothing"));
  WriteBytes(directory_ / "steps", "w20b5 20 5\n");
  EXPECT_THAT(RunCommand(command).err, HasSubstr("legal is 9 at least"));
  EXPECT_EQ(Corrections().bone->most_bone_mm, 30);
}

/// The left 75 columns without light, by the detector of the fixture's file.
void WriteEdge(const std::filesystem::path& flat, const std::filesystem::path& out,
               const physics::DetectorModel& model) {
  auto source = *formats::OpenBundle(flat);
  auto sink = *formats::CreateBundle(out, source->header(), {});
  auto readout = *physics::Readout::Make(model, kDetector);
  std::vector<physics::Reading> readings(kPixels);
  for (size_t i = 0; i < kPixels; ++i) {
    if (i % kDetector.columns < 75) readings[i] = {.signal = 0, .variance = 0};
  }
  ThreadPool pool(2);
  std::vector<uint16_t> counts(kPixels);
  for (int k = 0; k < static_cast<int>(source->header().frame_count()); ++k) {
    readout.Expose(readings, 1, pool, counts);
    ASSERT_TRUE(sink->Append(std::as_bytes(std::span(counts))).ok());
  }
  ASSERT_TRUE(sink->Finish().ok());
}

/// Mean of the columns that are 36 to 140 mm in the shadow, relative to the empty beam, after the
/// set's glare.
double InShadow(const ops::Calibration& set, const std::filesystem::path& edge) {
  auto source = *formats::OpenBundle(edge);
  std::vector<uint16_t> counts(kPixels);
  EXPECT_TRUE(source->Read(20, std::as_writable_bytes(std::span(counts))).ok());
  std::vector<float> frame = calibrate::Normalized(counts, *set.response, {});
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto session = *device->NewSession();
  const Shape3 shape{1, kDetector.rows, kDetector.columns};
  const auto stack = *session->NewProjectionStack(shape, ops::StackUse::kLineIntegrals);
  EXPECT_TRUE(stack->Upload(0, {frame.data(), shape}).ok());
  if (!set.glare.empty()) {
    const auto glare = *(*Backends().corrections.glare.Find("cpu"))(*session, set);
    EXPECT_TRUE(glare->Run(1, *stack).ok());
  }
  EXPECT_TRUE(stack->Download(0, {frame.data(), shape}).ok());
  double sum = 0;
  int good = 0;
  auto defect = set.defects.pixels.begin();
  for (size_t i = 0; i < kPixels; ++i) {
    if (defect != set.defects.pixels.end() && *defect == static_cast<int32_t>(i)) {
      ++defect;
      continue;
    }
    if (i % kDetector.columns < 17 || i % kDetector.columns >= 60) continue;
    sum += frame[i];
    ++good;
  }
  return sum / good;
}

TEST_F(Calibrate, GlareIsFittedToAnEdge) {
  std::string room = kPhysics;
  room.insert(room.rfind('}'), "glare_share: 0.09 glare_length_mm: 35 ");
  // Lag would be taken for glare, which is behind it in the chain.
  WriteBytes(directory_ / "room",
             absl::StrReplaceAll(room, {{"lag { share: 0.03 release: 0.4 }", ""},
                                        {"lag { share: 0.01 release: 0.05 }", ""}}));
  ASSERT_EQ(Detector(50, 71).exit_code, 0);
  physics::DetectorModel model = Model(71);
  model.lag.clear();
  model.glare_share = 0.09;
  model.glare_length_mm = 35;
  WriteEdge(directory_ / "flat", directory_ / "edge", model);
  const double before = InShadow(Corrections(), directory_ / "edge");
  Outcome outcome = RunCommand({"calibrate", "glare", "--disk", Path("edge"), "--into", Path("set"),
                                "--picture", Path("glare.png")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("signal in the shadow"));
  EXPECT_EQ(ReadBytes(directory_ / "glare.png"), Set().picture_png());
  const double after = InShadow(Corrections(), directory_ / "edge");
  std::printf("in the shadow: %.3f %% of air, after the correction %.3f %%\n", 100 * before,
              100 * after);
  EXPECT_GT(before, 0.003);
  EXPECT_LT(std::abs(after), 0.2 * before);
  double share = 0;
  for (const ops::SpreadTerm& term : Corrections().glare) share += term.share;
  EXPECT_NEAR(share, 0.09, 0.02);

  outcome = RunCommand({"calibrate", "glare", "--disk", Path("flat"), "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("blocks in the shadow is 0; legal is 100 at least"));
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
  EXPECT_EQ(outcome.err.find("warning"), std::string::npos) << outcome.err;
  // What the table was measured with changes.
  Simulate("step", 160, 32, {"--sweep", "step"});
  outcome = RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set"), "--json",
                        Path("lag.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  constexpr char kOutdated[] =
      "the set's part of `isocenter calibrate hu` was measured before the lag that it has now";
  EXPECT_THAT(outcome.err, HasSubstr(kOutdated));
  EXPECT_THAT(ReadBytes(directory_ / "lag.json"), HasSubstr(kOutdated));
}

// A service keeps a name for good: what is added to a set that it has needs another one, and has to
// be the newer of both.
TEST_F(Calibrate, ASetGoesOnUnderAnotherName) {
  ASSERT_EQ(Detector(50, 33).exit_code, 0);
  Simulate("step", 160, 33, {"--sweep", "step"});
  v1::CalibrationSet first = Set();
  wire::SetTime(wire::TimeFromProto(first.created()) - absl::Hours(1), *first.mutable_created());
  WriteBytes(directory_ / "set", wire::CalibrationFile(first));
  const auto lag = [&](const std::string& name) {
    return RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set"), "--name",
                       name, "--out", Path("next")});
  };
  EXPECT_THAT(lag("room 3").err, HasSubstr("name is 'room 3'; legal is 1 to 64 characters of"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "next"));
  const Outcome outcome = lag("room3-b");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("next: room3-b"));
  const v1::CalibrationSet next = *wire::ReadCalibrationFile("", Path("next"));
  EXPECT_EQ(next.name(), "room3-b");
  EXPECT_TRUE(next.has_lag());
  EXPECT_GT(wire::TimeFromProto(next.created()),
            wire::TimeFromProto(first.created()) + absl::Minutes(30));
  EXPECT_EQ(next.valid_until().seconds(), first.valid_until().seconds());
  EXPECT_EQ(Set().name(), first.name());
}

TEST_F(Calibrate, SetsThatAreThereAreNotReplacedUnasked) {
  ASSERT_EQ(Detector(50, 34).exit_code, 0);
  WriteBytes(directory_ / "taken", "what took a day to measure");
  Simulate("step", 160, 34, {"--sweep", "step"});
  const std::vector<std::vector<std::string>> commands = {
      {"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"), "--station",
       "room3", "--mode", "bin2", "--valid-days", "30", "--out", Path("taken")},
      {"calibrate", "lag", "--step", Path("step"), "--into", Path("set"), "--out", Path("taken")},
      {"calibrate", "geometry", "--sweep", Path("flat"), "--beads", "helix", "--station", "room3",
       "--mode", "bin2", "--valid-days", "30", "--out", Path("taken")},
      {"calibrations", "get", "room3", "--server", "127.0.0.1:1", "--out", Path("taken")}};
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = RunCommand(command);
    EXPECT_EQ(outcome.exit_code, 1) << command[1];
    EXPECT_THAT(outcome.err, HasSubstr("taken', which is there already; legal is another name, or "
                                       "--overwrite"));
  }
  EXPECT_EQ(ReadBytes(directory_ / "taken"), "what took a day to measure");
  std::vector<std::string> same = commands[1];
  same.back() = Path("set");  // that of --into
  EXPECT_EQ(RunCommand(same).exit_code, 0);
  std::vector<std::string> asked = commands[1];
  asked.emplace_back("--overwrite");
  EXPECT_EQ(RunCommand(asked).exit_code, 0);
  EXPECT_TRUE(wire::ReadCalibrationFile("", Path("taken"))->has_lag());
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
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("station_name"));
  outcome = RunCommand({"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"),
                        "--station", "a", "--mode", "b", "--valid-days", "30", "--air-columns",
                        "90", "--out", Path("set")});
  EXPECT_THAT(outcome.err, HasSubstr("air.columns is 90; legal is 16 to 80"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "set"));
  outcome = RunCommand({"calibrate", "lag", "--step", Path("dark"), "--into", Path("dark")});
  EXPECT_EQ(outcome.exit_code, 1);
  outcome = RunCommand({"calibrate", "lag", "--step", Path("dark"), "--into", Path("none")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("none"));
}

}  // namespace
}  // namespace isocenter::client_test
