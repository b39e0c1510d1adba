// A simulated room: sweeps and scans of its detector, and the set that `isocenter calibrate` makes
// of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
#include "kernels/physics/detector_model.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {

inline constexpr Detector kDetector{
    .columns = 160, .rows = 128, .pitch_u_mm = 2.4, .pitch_v_mm = 2.4};
inline constexpr size_t kPixels = 160 * 128;

/// What kPhysics plants, with the seed of a sweep.
inline physics::DetectorModel Model(uint64_t seed) {
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

inline constexpr char kPhysics[] =
    "tube { kv: 90 copper_mm: 0.1 } detector { signal_counts: 40000 photons: 20000 "
    "electronic_counts: 6 offset_counts: 1200 offset_spread_counts: 40 gain_spread: 0.05 "
    "defective_pixels: 0.001 dead_lines: 1 dead_clusters: 1 dose_flicker: 0.1 "
    "lag { share: 0.03 release: 0.4 } lag { share: 0.01 release: 0.05 } }";

/// Means of a volume within 30 mm of the axis, and between 55 and 70 mm.
struct Cup {
  double center = 0, border = 0;
};
inline Cup CupOf(const std::filesystem::path& path) {
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

class Calibrate : public testing::Test {
 protected:
  void SetUp() override { WriteBytes(directory_ / "room", kPhysics); }
  /// Whatever a test has measured, its figures are defined in the page that physicists read.
  void TearDown() override {
    if (!std::filesystem::exists(directory_ / "set")) return;
    const std::string page =
        ReadBytes(std::filesystem::path(ISOCENTER_SOURCE_DIR) / "docs/calibrating.md");
    const v1::CalibrationSet set = Set();
    for (const v1::QualityFigure& figure : set.quality()) {
      const size_t colon = figure.name().find(": ");
      const std::string unit = figure.unit().empty() ? "1" : figure.unit();
      const std::string row = absl::StrCat("\n| ", figure.name().substr(0, colon), " | ",
                                           figure.name().substr(colon + 2), " | ", unit, " | ");
      EXPECT_NE(page.find(row), std::string::npos) << "docs/calibrating.md has no row" << row;
    }
  }

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

}  // namespace isocenter::client_test
