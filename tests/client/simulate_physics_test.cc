// `isocenter simulate --physics`: raw frames of a detector with faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
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

TEST(SimulatePhysics, RefusesFilesThatSayNothingLegal) {
  TemporaryDirectory directory;
  const auto error = [&](const std::string& text) {
    WriteBytes(directory / "p", text);
    const Outcome outcome = Simulate(directory / "b", directory / "p", {"--phantom", "cylinder"});
    EXPECT_EQ(outcome.exit_code, 1) << text;
    EXPECT_THAT(outcome.err, HasSubstr((directory / "p").string()));
    return outcome.err;
  };
  EXPECT_THAT(error("tube {\n kv: x }"), HasSubstr("line 2, column"));
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
  EXPECT_THAT(error("spectrum_file: 'none.txt'"), HasSubstr("none.txt"));
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
  EXPECT_THAT(RunCommand({"simulate", "--sweep", "dark", "--out", directory / "b"}).err,
              HasSubstr("--sweep needs --physics"));
  EXPECT_FALSE(std::filesystem::exists(directory / "b"));
}

}  // namespace
}  // namespace isocenter::client_test
