// `isocenter simulate --physics`: raw frames of a detector with faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
#include "kernels/physics/material.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

constexpr int kColumns = 39, kRows = 30, kMiddle = 15 * kColumns + 19;

/// A run of simulate on three frames of a small detector.
Outcome Simulate(const std::filesystem::path& out, const std::filesystem::path& physics,
                 std::vector<std::string> more) {
  more.insert(more.begin(), {"simulate", "--out", out, "--physics", physics, "--frames", "3",
                             "--detector", "39x30", "--pitch-mm", "10", "--trajectory", "circle"});
  return RunCommand(more);
}

std::vector<uint16_t> Frame(const std::filesystem::path& bundle, int index) {
  const auto source = formats::OpenBundle(bundle);
  EXPECT_TRUE(source.ok()) << source.status();
  std::vector<uint16_t> frame(kColumns * kRows);
  EXPECT_TRUE((*source)->Read(index, std::as_writable_bytes(std::span(frame))).ok());
  return frame;
}

double Mean(const std::vector<uint16_t>& frame) {
  double sum = 0;
  for (uint16_t counts : frame) sum += counts;
  return sum / static_cast<double>(frame.size());
}

// One energy, so that Beer's law holds: 60 keV, water 0.02059/mm (NISTIR 5632), 2 x 80 mm of it.
// The middle of the pixel grid is up to 3 mm off the axis at the isocentre.
TEST(SimulatePhysics, OfOneEnergyIsBeersLaw) {
  TemporaryDirectory directory;
  WriteBytes(directory / "line.txt", "60 1\n");
  WriteBytes(directory / "p", "spectrum_file: 'line.txt' detector { signal_counts: 40000 }");
  const Outcome outcome = Simulate(directory / "b", directory / "p",
                                   {"--phantom", "cylinder", "--truth", directory / "t.mha",
                                    "--truth-size", "9", "--truth-voxel-mm", "5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NEAR(Frame(directory / "b", 0)[kMiddle], 40000 * std::exp(-160 * 0.02059), 40);
  EXPECT_EQ(Frame(directory / "b", 2)[0], 40000);
  const auto source = formats::OpenBundle(directory / "b");
  EXPECT_EQ((*source)->header().i0_counts(), 40000);
  const auto description = formats::ReadBundleDescription(directory / "b");
  double kev = 0, mu = 0;
  ASSERT_TRUE(absl::SimpleAtod(description->at("effective_kev"), &kev));
  ASSERT_TRUE(absl::SimpleAtod(description->at("mu_water_per_mm"), &mu));
  EXPECT_NEAR(kev, 60, 1e-3);
  EXPECT_NEAR(mu, 0.02059, 1e-5);
  const auto truth = formats::ReadMetaImage(directory / "t.mha");
  ASSERT_TRUE(truth.ok());
  EXPECT_NEAR(truth->voxels[4 * 81 + 40], 0, 1e-3);
}

// The same object as voxels: their values fade over 2 mm of which the border is the middle.
TEST(SimulatePhysics, OfVoxelsAgreesWithThePhantom) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p", "tube { kv: 90 copper_mm: 0.1 }");
  ASSERT_EQ(Simulate(directory / "b", directory / "p",
                     {"--phantom", "cylinder", "--truth", directory / "t.mha", "--truth-size", "84",
                      "--truth-voxel-mm", "2"})
                .exit_code,
            0);
  const Outcome outcome =
      Simulate(directory / "v", directory / "p", {"--volume", directory / "t.mha"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NEAR(
      Frame(directory / "v", 0)[kMiddle] / static_cast<double>(Frame(directory / "b", 0)[kMiddle]),
      1, 0.01);
}

TEST(SimulatePhysics, SweepsAreDarkOrFlat) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p",
             "tube { kv: 80 } detector { signal_counts: 20000 photons: 10000 "
             "electronic_counts: 5 offset_counts: 800 gain_spread: 0.05 }");
  for (const char* sweep : {"dark", "flat"}) {
    const Outcome outcome = Simulate(directory / sweep, directory / "p", {"--sweep", sweep});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(formats::ReadBundleDescription(directory / sweep)->at("sweep"), sweep);
  }
  const double pixels = kColumns * kRows;
  EXPECT_NEAR(Mean(Frame(directory / "dark", 1)), 800, 5 * 5 / std::sqrt(pixels));
  // Gain and quanta (of one energy 200, of many some more) scatter a pixel by 1030.
  EXPECT_NEAR(Mean(Frame(directory / "flat", 1)), 20800, 5 * 1100 / std::sqrt(pixels));
  EXPECT_NE(Frame(directory / "flat", 1), Frame(directory / "flat", 2));
}

TEST(SimulatePhysics, TheSeedDecides) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p",
             "tube { kv: 80 } detector { photons: 10000 dose_flicker: 0.2 "
             "defective_pixels: 0.01 lag { share: 0.05 release: 0.5 } }");
  for (const auto& [name, seed] : {std::pair{"a", "7"}, {"b", "7"}, {"c", "8"}}) {
    ASSERT_EQ(Simulate(directory / name, directory / "p", {"--phantom", "head", "--seed", seed})
                  .exit_code,
              0);
  }
  EXPECT_EQ(Frame(directory / "a", 2), Frame(directory / "b", 2));
  EXPECT_NE(Frame(directory / "a", 2), Frame(directory / "c", 2));
}

// An anode beyond row 0: a flat sweep is darker there, and what is kept for a pixel in the middle.
TEST(SimulatePhysics, HasAHeel) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p", "tube { kv: 90 anode_angle_deg: 14 heel: true }");
  const Outcome outcome = Simulate(directory / "b", directory / "p", {"--sweep", "flat"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto frame = Frame(directory / "b", 1);
  for (int v = 1; v < kRows; ++v) EXPECT_GT(frame[v * kColumns], frame[(v - 1) * kColumns]) << v;
  EXPECT_EQ(frame[5 * kColumns], frame[5 * kColumns + 38]);
  EXPECT_NEAR((frame[14 * kColumns] + frame[15 * kColumns]) / 2.0, 50000, 60);
  EXPECT_LT(frame[0], 45000);
}

// A spot of 5 mm and an arm that moves by 3 degrees in a frame change where borders are, and hardly
// how much there is.
// The middle of an empty beam is signal_counts; the sides have what 30 mm of aluminium leave.
TEST(SimulatePhysics, HasABowTie) {
  TemporaryDirectory directory;
  WriteBytes(directory / "line.txt", "60 1\n");
  WriteBytes(directory / "p",
             "spectrum_file: 'line.txt' detector { signal_counts: 40000 } bow_tie { material: "
             "'aluminium' point { mm: 5 } point { fan_deg: 5 mm: 35 } }");
  const Outcome outcome = Simulate(directory / "b", directory / "p", {"--sweep", "flat"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<uint16_t> frame = Frame(directory / "b", 1);
  EXPECT_EQ(frame[kMiddle - 10], 40000);
  const double mu = physics::LinearAttenuation(physics::KnownMaterial("aluminium"), 60);
  EXPECT_NEAR(frame[kMiddle + 15], 40000 * std::exp(-30 * mu), 100);
}

TEST(SimulatePhysics, Blurs) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p", "tube { kv: 90 }");
  WriteBytes(directory / "s", "tube { kv: 90 } blur { focal_spot_mm: 5 samples: 8 }");
  WriteBytes(directory / "m", "tube { kv: 90 } blur { exposure_share: 1 samples: 5 }");
  for (const char* name : {"p", "s", "m"}) {
    const Outcome outcome = Simulate(directory / (std::string(name) + "b"), directory / name,
                                     {"--phantom", "edge", "--arc-deg", "6"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  for (const char* blurred : {"sb", "mb"}) {
    EXPECT_NE(Frame(directory / "pb", 0), Frame(directory / blurred, 0));
    EXPECT_NEAR(Mean(Frame(directory / blurred, 0)) / Mean(Frame(directory / "pb", 0)), 1, 0.01);
  }
}

// The head's skull is bone and water, its brain water, and all of it the truth at the effective
// energy, whose shares of water and bone add up to the number.
TEST(SimulatePhysics, GivesMaterialsAsTruth) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p", "tube { kv: 90 }");
  const std::vector<std::string> flags{"--phantom",         "head",         "--truth",
                                       directory / "t.mha", "--truth-size", "21",
                                       "--truth-voxel-mm",  "10",           "--truth-materials"};
  const Outcome outcome = Simulate(directory / "b", directory / "p", flags);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto read = [&](const char* name) {
    return formats::ReadMetaImage(directory / name).value().voxels;
  };
  const auto truth = read("t.mha"), water = read("t-water.mha"), bone = read("t-bone.mha"),
             titanium = read("t-titanium.mha");
  double kev = 0;
  ASSERT_TRUE(
      absl::SimpleAtod(formats::ReadBundleDescription(directory / "b")->at("effective_kev"), &kev));
  const double of_bone = physics::LinearAttenuation(physics::KnownMaterial("bone"), kev) /
                         physics::LinearAttenuation(physics::KnownMaterial("water"), kev);
  int bony = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    EXPECT_NEAR(1000 * (water[i] + of_bone * bone[i] - 1), truth[i], 0.01) << i;
    EXPECT_EQ(titanium[i], 0);
    bony += bone[i] > 0.3;
  }
  EXPECT_GT(bony, 50);
  EXPECT_EQ(water[0], 0);
}

std::string WithScatter(const std::string& more = "") {
  return "tube { kv: 90 } scatter { photons_per_view: 2000 views: 2 columns: 8 rows: 6 " + more +
         " }";
}

// Behind the middle of the cylinder scatter is some tenths of the primary, beside it some
// hundredths of the open beam; in an empty one there is none.
TEST(SimulatePhysics, AddsScatter) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p", "tube { kv: 90 }");
  WriteBytes(directory / "s", WithScatter());
  WriteBytes(directory / "g", WithScatter("grid_primary: 0.5 grid_scatter: 0.05"));
  const std::vector<std::string> object{"--phantom", "cylinder"};
  ASSERT_EQ(Simulate(directory / "without", directory / "p", object).exit_code, 0);
  const Outcome outcome = Simulate(directory / "with", directory / "s", object);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(Simulate(directory / "grid", directory / "g", object).exit_code, 0);
  ASSERT_EQ(Simulate(directory / "flat", directory / "s", {"--sweep", "flat"}).exit_code, 0);
  for (int frame : {0, 1, 2}) {
    const auto primary = Frame(directory / "without", frame),
               all = Frame(directory / "with", frame),
               behind_grid = Frame(directory / "grid", frame);
    const double scatter = all[kMiddle] - primary[kMiddle];
    EXPECT_GT(scatter, 0.1 * primary[kMiddle]) << frame;
    EXPECT_LT(scatter, 1.5 * primary[kMiddle]) << frame;
    EXPECT_GT(all[0], 50000) << frame;
    EXPECT_LT(all[0], 52500) << frame;
    EXPECT_NEAR(behind_grid[kMiddle] - primary[kMiddle], scatter / 10, 1.1) << frame;
  }
  EXPECT_THAT(Frame(directory / "flat", 0), testing::Each(50000));
  double error = 0;
  ASSERT_TRUE(absl::SimpleAtod(
      formats::ReadBundleDescription(directory / "with")->at("scatter_error"), &error));
  EXPECT_GT(error, 0.01);
  EXPECT_LT(error, 1);
}

// What is kept fits this scan alone; it is read whatever the seed, and gives the same frames.
TEST(SimulatePhysics, KeepsScatterInAFile) {
  TemporaryDirectory directory;
  const auto simulate = [&](const std::string& out, const std::string& physics,
                            std::vector<std::string> flags) {
    WriteBytes(directory / "p", physics);
    return Simulate(directory / out, directory / "p", std::move(flags));
  };
  const std::string physics = WithScatter("file: 'kept'");
  ASSERT_EQ(simulate("a", physics, {"--phantom", "cylinder"}).exit_code, 0);
  ASSERT_TRUE(std::filesystem::exists(directory / "kept"));
  const auto written = std::filesystem::last_write_time(directory / "kept");
  ASSERT_EQ(simulate("b", physics, {"--phantom", "cylinder", "--seed", "9"}).exit_code, 0);
  EXPECT_EQ(std::filesystem::last_write_time(directory / "kept"), written);
  EXPECT_EQ(Frame(directory / "a", 1), Frame(directory / "b", 1));

  const auto error = [&](const std::string& text, std::vector<std::string> flags, int code = 1) {
    const Outcome outcome = simulate("c", text, std::move(flags));
    EXPECT_EQ(outcome.exit_code, code);
    EXPECT_FALSE(std::filesystem::exists(directory / "c"));
    return outcome.err;
  };
  EXPECT_THAT(error(physics, {"--phantom", "head"}), HasSubstr("it has another object;"));
  EXPECT_THAT(error(physics, {"--phantom", "cylinder", "--sid-mm", "800"}),
              HasSubstr("it has other matrices or detector;"));
  EXPECT_THAT(error(physics + " csi_mm: 0.5", {"--phantom", "cylinder"}),
              HasSubstr("another spectrum or screen"));
  EXPECT_THAT(
      error("tube { kv: 90 heel: true } scatter { photons_per_view: 2000 views: 2 columns: 8 "
            "rows: 6 file: 'kept' }",
            {"--phantom", "cylinder"}),
      HasSubstr("another spectrum or screen"));
  EXPECT_THAT(error("tube { kv: 90 } scatter { photons_per_view: 3000 views: 2 columns: 9 rows: 6 "
                    "file: 'kept' }",
                    {"--phantom", "cylinder"}),
              HasSubstr("photons_per_view of 2000, not 3000, columns of 8, not 9"));
  WriteBytes(directory / "kept", "nonsense");
  EXPECT_THAT(error(physics, {"--phantom", "cylinder"}), HasSubstr("kept: this is no stored"));
  EXPECT_THAT(error(WithScatter("file: 'nowhere/kept'"), {"--phantom", "cylinder"}, 4),
              HasSubstr("scatter.file"));
}

TEST(SimulatePhysics, RefusesFilesThatSayNothingLegal) {
  TemporaryDirectory directory;
  const auto error = [&](const std::string& text, int code = 1) {
    WriteBytes(directory / "p", text);
    const Outcome outcome = Simulate(directory / "b", directory / "p", {"--phantom", "cylinder"});
    EXPECT_EQ(outcome.exit_code, code) << text;
    EXPECT_THAT(outcome.err, HasSubstr((directory / "p").string()));
    return outcome.err;
  };
  EXPECT_THAT(error("tube {\n kv: x }"),
              HasSubstr(":2:6: tube.kv is x, which is no number; legal is a number"));
  EXPECT_THAT(error(""), HasSubstr("spectrum is missing; legal is tube or spectrum_file"));
  EXPECT_THAT(error("tube { kv: 20 }"), HasSubstr("tube.kv is 20; legal is 40 to 150"));
  EXPECT_THAT(error("tube { }"), HasSubstr("tube.kv is 0; legal is 40 to 150"));
  EXPECT_THAT(error("tube { kv: nan }"), HasSubstr("tube.kv is nan"));
  EXPECT_THAT(error("tube { kv: 80 } csi_mm: 9"), HasSubstr("csi_mm is 9; legal is 0.05 to 5"));
  EXPECT_THAT(error("tube { kv: 80 } detector { gain_spread: 1 }"),
              HasSubstr("detector.gain_spread is 1; legal is 0 to 0.3"));
  EXPECT_THAT(error("tube { kv: 80 } detector { dead_lines: 4294967295 }"),
              HasSubstr("legal is 0 to 100"));
  EXPECT_THAT(error("tube { kv: 80 } detector { lag { share: 0.1 } }"),
              HasSubstr("detector.lag.release is 0"));
  EXPECT_THAT(
      error("tube { kv: 80 } detector { lag { share: 0.1 release: 1 capacity_counts: -1 } }"),
      HasSubstr("detector.lag.capacity_counts is -1; legal is 1 to 1e+09"));
  EXPECT_THAT(error("tube { kv: 80 anode_angle_deg: 5 heel: true }"),
              HasSubstr("tube.anode_angle_deg is 5; legal with heel on this detector is "));
  EXPECT_THAT(error("tube { kv: 80 } blur { focal_spot_mm: 6 }"),
              HasSubstr("blur.focal_spot_mm is 6; legal is 0 to 5"));
  EXPECT_THAT(error("tube { kv: 80 } blur { exposure_share: nan }"),
              HasSubstr("blur.exposure_share is nan; legal is 0 to 1"));
  EXPECT_THAT(error("tube { kv: 80 } blur { samples: 4000000000 }"),
              HasSubstr("blur.samples is 2147483647; legal is 2 to 16"));
  EXPECT_THAT(error("tube { kv: 80 } scatter { photons_per_view: 10 }"),
              HasSubstr("scatter.photons_per_view is 10; legal is 1000 to 1000000000"));
  EXPECT_THAT(error("tube { kv: 80 } scatter { photons_per_view: 18446744073709551615 }"),
              HasSubstr("legal is 1000 to 1000000000"));
  EXPECT_THAT(error("tube { kv: 80 } scatter { views: 4294967295 }"),
              HasSubstr("scatter.views is 2147483647; legal is 1 to 360"));
  EXPECT_THAT(error("tube { kv: 80 } scatter { columns: 1 }"), HasSubstr("legal is 2 to 256"));
  EXPECT_THAT(error("tube { kv: 80 } scatter { grid_primary: 2 }"),
              HasSubstr("scatter.grid_primary is 2; legal is 0.01 to 1"));
  EXPECT_THAT(error("tube { kv: 80 } scatter { grid_scatter: nan }"),
              HasSubstr("scatter.grid_scatter is nan"));
  EXPECT_THAT(error("tube { kv: 80 } detector { dose: 200 }"),
              HasSubstr("detector.dose is 200; legal is 0.01 to 100"));
  EXPECT_THAT(error("tube { kv: 80 } bow_tie { material: 'water' point { } }"),
              HasSubstr("the number of bow_tie.point is 1; legal is 2 to 1000"));
  EXPECT_THAT(error("tube { kv: 80 } bow_tie { point { } point { fan_deg: 1 } }"),
              HasSubstr("bow_tie.material: "));
  EXPECT_THAT(error("tube { kv: 80 } scatter { } bow_tie { material: 'water' point { } }"),
              HasSubstr("bow_tie and scatter are given; legal is one of them"));
  EXPECT_THAT(error("spectrum_file: 'none.txt'", 4), HasSubstr("none.txt"));
  WriteBytes(directory / "bad.txt", "60 1\n50 1\n");
  EXPECT_THAT(error("spectrum_file: 'bad.txt'"), HasSubstr("50 keV after 60 keV"));
  WriteBytes(directory / "p", std::string(70000, '#'));
  EXPECT_THAT(Simulate(directory / "b", directory / "p", {"--phantom", "head"}).err,
              HasSubstr("65536"));
  EXPECT_FALSE(std::filesystem::exists(directory / "b"));
}

TEST(SimulatePhysics, RefusesFlagsThatContradictIt) {
  TemporaryDirectory directory;
  WriteBytes(directory / "p", "tube { kv: 80 }");
  const auto run = [&](std::vector<std::string> flags) {
    return Simulate(directory / "b", directory / "p", std::move(flags));
  };
  EXPECT_EQ(run({"--phantom", "head", "--photons", "5"}).exit_code, 2);
  EXPECT_EQ(run({"--phantom", "head", "--i0", "5"}).exit_code, 2);
  EXPECT_EQ(run({"--phantom", "head", "--electronic-counts", "5"}).exit_code, 2);
  EXPECT_EQ(run({"--phantom", "head", "--sweep", "dark"}).exit_code, 2);
  EXPECT_EQ(run({"--sweep", "bright"}).exit_code, 2);
  EXPECT_THAT(run({"--phantom", "head", "--pixel", "line-integrals"}).err,
              HasSubstr("--pixel is line-integrals; legal with --physics is counts"));
  EXPECT_THAT(run({"--sweep", "flat", "--truth", directory / "t.mha"}).err,
              HasSubstr("--truth needs an object"));
  EXPECT_THAT(run({"--phantom", "head", "--truth-materials"}).err,
              HasSubstr("--truth-materials needs --truth and --physics"));
  EXPECT_THAT(RunCommand({"simulate", "--sweep", "dark", "--out", directory / "b"}).err,
              HasSubstr("--sweep needs --physics"));
  EXPECT_THAT(run({"--phantom", "head", "--backend", "cuda"}).err,
              HasSubstr("--backend cuda needs an object and --physics with scatter"));
  EXPECT_THAT(run({"--phantom", "head", "--memory-mib", "100"}).err,
              HasSubstr("--memory-mib is the GPU's"));
  EXPECT_EQ(run({"--phantom", "head", "--backend", "gles"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(directory / "b"));
}

}  // namespace
}  // namespace isocenter::client_test
