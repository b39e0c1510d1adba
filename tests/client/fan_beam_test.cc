// Fan-beam scans on disk: what is refused, and what `isocenter reconstruct` makes of them.
#include "kernels/phantom/fan_beam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/formats/fan_beam_scan.h"
#include "client/formats/meta_image.h"
#include "kernels/base/units.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

constexpr double kWater = 0.02;
constexpr char kFlat[] = R"({
  "format": "isocenter-fan-beam", "version": 1,
  "source_to_axis_mm": 500, "views": 200, "first_angle_deg": 30, "arc_deg": -360,
  "detector": {"kind": "flat", "channels": 240, "pitch_mm": 1.9, "source_to_detector_mm": 900,
               "central_channel": 119.75},
  "slices": 3, "slice_spacing_mm": 2.5, "values": "float32_line_integrals"
})";
constexpr char kArc[] = R"({
  "format": "isocenter-fan-beam", "version": 1,
  "source_to_axis_mm": 500, "views": 200, "arc_deg": 220,
  "detector": {"kind": "arc", "channels": 241, "channel_angle_deg": 0.12},
  "slices": 1, "values": "uint16_counts", "i0_counts": 60000
})";

std::string Bytes(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

// Slice k of the rod phantom is k + 1 times as dense.
std::string Sinogram(const FanBeamGeometry& g, int slices, bool counts) {
  ThreadPool pool(2);
  std::vector<float> one(static_cast<size_t>(g.views) * g.channels), all;
  phantom::ProjectFanBeam(*phantom::MakeRodPhantom(kWater), g, 0, 3, pool,
                          {one.data(), {g.views, 1, g.channels}});
  for (int view = 0; view < g.views; ++view) {
    for (int slice = 0; slice < slices; ++slice) {
      for (int c = 0; c < g.channels; ++c) {
        all.push_back(static_cast<float>(slice + 1) * one[view * g.channels + c]);
      }
    }
  }
  if (!counts) return Bytes(all);
  std::vector<uint16_t> raw;
  for (const float p : all) raw.push_back(static_cast<uint16_t>(std::lround(60000 * std::exp(-p))));
  return Bytes(raw);
}

std::string OpenError(const TemporaryDirectory& directory, const std::string& description,
                      size_t bytes = 200 * 3 * 240 * 4) {
  WriteBytes(directory / "fan_beam.json", description);
  WriteBytes(directory / "sinogram.raw", std::string(bytes, 0));
  return std::string(formats::FanBeamScan::Open(directory.path()).status().message());
}

TEST(FanBeamScan, RefusesByName) {
  TemporaryDirectory directory;
  EXPECT_FALSE(formats::IsFanBeamScan(directory.path()));
  EXPECT_EQ(OpenError(directory, kFlat), "");
  EXPECT_TRUE(formats::IsFanBeamScan(directory.path()));
  const auto changed = [&](const char* from, const char* to) {
    return OpenError(directory, absl::StrReplaceAll(kFlat, {{from, to}}));
  };
  EXPECT_THAT(OpenError(directory, kFlat, 100),
              HasSubstr("sinogram.raw has 100 bytes, but fan_beam.json states 576000"));
  EXPECT_THAT(
      OpenError(directory, "{"),
      HasSubstr("fan_beam.json:1:2: the file ends here; legal is a name in \"...\" or '}'"));
  EXPECT_THAT(OpenError(directory, "[1]"), HasSubstr("is a JSON array; legal is an object"));
  EXPECT_THAT(OpenError(directory, ""), HasSubstr("fan_beam.json is empty: it has 0 bytes"));
  EXPECT_THAT(changed("\"version\": 1", "\"version\": 2"), HasSubstr("\"version\" is 2"));
  EXPECT_THAT(changed("isocenter-fan-beam", "other"), HasSubstr("legal is isocenter-fan-beam"));
  EXPECT_THAT(changed("\"views\": 200", "\"views\": 1.5"), HasSubstr("\"views\" is 1.5"));
  EXPECT_THAT(changed("\"views\": 200", "\"views\": 1e9"), HasSubstr("4 to 65536"));
  EXPECT_THAT(changed("\"slices\": 3", "\"slices\": 5000"), HasSubstr("1 to 4096"));
  EXPECT_THAT(changed("\"arc_deg\": -360", "\"arc_deg\": -100"), HasSubstr("cover 100 degrees"));
  EXPECT_THAT(changed("arc_deg", "arcs_deg"), HasSubstr("\"arc_deg\" is missing"));
  EXPECT_THAT(changed("first_angle_deg", "angle"), HasSubstr("\"angle\" is unknown"));
  EXPECT_THAT(changed("\"pitch_mm\": 1.9", "\"pitch_mm\": \"x\""), HasSubstr("is no number"));
  EXPECT_THAT(changed("\"kind\": \"flat\"", "\"kind\": \"round\""), HasSubstr("arc, flat"));
  EXPECT_THAT(OpenError(directory, absl::StrReplaceAll(kArc, {{"60000", "0"}}), 200 * 241 * 2),
              HasSubstr("\"i0_counts\" is 0; legal is 1 to 65535"));
}

// The mean of a few voxels around (x, y) mm.
double MeanAt(const formats::Volume& volume, int slice, double x, double y) {
  const Vec3 at = volume.grid.WorldToVoxel({x, y, 0});
  double sum = 0;
  for (int j = -2; j <= 2; ++j) {
    for (int i = -2; i <= 2; ++i) {
      sum += volume.view()(slice, std::lround(at.y) + j, std::lround(at.x) + i);
    }
  }
  return sum / 25;
}

TEST(FanBeamScan, IsReconstructed) {
  for (const bool flat : {true, false}) {
    TemporaryDirectory directory;
    WriteBytes(directory / "fan_beam.json", flat ? kFlat : kArc);
    const int slices = flat ? 3 : 1;
    FanBeamGeometry g{.source_to_axis_mm = 500, .channels = 241, .central_channel = 120};
    g.views = 200;
    g.channel_angle = DegreesToRadians(0.12);
    g.arc = DegreesToRadians(220);
    if (flat) {
      g = {.detector = FanBeamGeometry::Detector::kFlat,
           .source_to_axis_mm = 500,
           .source_to_detector_mm = 900,
           .channels = 240,
           .channel_pitch_mm = 1.9,
           .central_channel = 119.75,
           .views = 200,
           .first_angle = DegreesToRadians(30),
           .arc = -2 * kPi};
    }
    WriteBytes(directory / "sinogram.raw", Sinogram(g, slices, !flat));
    const std::string out = directory / "volume.mha";
    const Outcome outcome =
        RunCommand({"reconstruct", "--overwrite", directory.path(), "--out", out, "--grid",
                    absl::StrCat("120x120x", slices), "--voxel-mm", "2", "--mu-water", "0.02",
                    "--backend", "cpu"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto volume = formats::ReadMetaImage(out);
    ASSERT_TRUE(volume.ok()) << volume.status();
    for (int slice = 0; slice < slices; ++slice) {
      const double density = slice + 1;
      EXPECT_NEAR(MeanAt(*volume, slice, 0, 0), 1000 * density - 1000, 10 * density);
      EXPECT_NEAR(MeanAt(*volume, slice, -45, 45), 1955 * density - 1000, 20 * density);
      EXPECT_NEAR(MeanAt(*volume, slice, 45, -45), 1120 * density - 1000, 10 * density);
      EXPECT_NEAR(MeanAt(*volume, slice, -45, -45), -1000, 20 * density);
    }
    EXPECT_DOUBLE_EQ(volume->grid.spacing.z, flat ? 2.5 : 1);
    const Outcome refused = RunCommand({"reconstruct", "--overwrite", directory.path(), "--out",
                                        out, "--grid", "64x64x9", "--voxel-mm", "2"});
    EXPECT_THAT(refused.err, HasSubstr(absl::StrCat("9 slices; the scan has ", slices)));
    const Outcome iterative = RunCommand(
        {"reconstruct", "--overwrite", directory.path(), "--out", out, "--algorithm", "sirt"});
    EXPECT_THAT(iterative.err, HasSubstr("--algorithm is not for fan-beam scans"));
    // What would be left undone is refused.
    for (const std::vector<std::string>& asked :
         std::vector<std::vector<std::string>>{{"--calibration", "set"},
                                               {"--metal"},
                                               {"--bone"},
                                               {"--scatter"},
                                               {"--stripes"},
                                               {"--rings"}}) {
      std::vector<std::string> command{"reconstruct", "--overwrite", directory.path(), "--out",
                                       out};
      command.insert(command.end(), asked.begin(), asked.end());
      EXPECT_THAT(RunCommand(command).err, HasSubstr(asked[0] + " is not for fan-beam scans"));
    }
  }
}

}  // namespace
}  // namespace isocenter::client_test
