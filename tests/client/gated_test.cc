// Organs that move: `isocenter simulate --organ-motion`, phases in bundles, and `isocenter
// reconstruct --phase` and `--gates`, by the binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Outcome Simulate(const std::filesystem::path& out, std::vector<std::string> more) {
  more.insert(more.begin(),
              {"simulate", "--phantom", "thorax", "--out", out, "--frames", "120", "--detector",
               "62x48", "--pitch-mm", "6.16", "--pixel", "line-integrals"});
  return RunCommand(more);
}

Outcome Reconstruct(const std::filesystem::path& bundle, const std::filesystem::path& out,
                    std::vector<std::string> more) {
  more.insert(more.begin(), {"reconstruct", "--overwrite", bundle, "--out", out, "--grid",
                             "32x32x24", "--voxel-mm", "6.5", "--backend", "cpu"});
  return RunCommand(more);
}

double MeanSquare(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / double(a.size());
}

TEST(Gated, FramesTellTheirPhasesAndVolumesFollowThem) {
  const TemporaryDirectory directory;
  const auto bundle = directory / "heart";
  ASSERT_EQ(Simulate(bundle, {"--organ-motion", "heart", "--cycles", "12"}).exit_code, 0);
  const auto source = formats::OpenBundle(bundle);
  ASSERT_TRUE(source.ok()) << source.status();
  for (int frame = 0; frame < 120; ++frame) {
    const std::optional<float> phase = (*source)->phase(frame);
    ASSERT_TRUE(phase && *phase >= 0 && *phase < 1);
  }
  // The whole cycle is what is reconstructed without phases.
  ASSERT_EQ(Reconstruct(bundle, directory / "all.mha", {}).exit_code, 0);
  ASSERT_EQ(Reconstruct(bundle, directory / "whole.mha", {"--phase", "0.3", "--phase-width", "1"})
                .exit_code,
            0);
  const auto all = *formats::ReadMetaImage(directory / "all.mha");
  const auto whole = *formats::ReadMetaImage(directory / "whole.mha");
  EXPECT_LT(MeanSquare(all.voxels, whole.voxels), 0.01);
  EXPECT_EQ(all.grid, whole.grid);
  const Outcome four = Reconstruct(bundle, directory / "beat.mha", {"--gates", "4"});
  ASSERT_EQ(four.exit_code, 0) << four.err;
  EXPECT_THAT(four.out,
              HasSubstr("phase 0.75, width 0.25: 42 of 120 frames, largest gap 11.7 deg"));
  EXPECT_THAT(four.err, HasSubstr("expect streaks"));
  const auto first = *formats::ReadMetaImage(directory / "beat-0.mha");
  const auto third = *formats::ReadMetaImage(directory / "beat-2.mha");
  EXPECT_GT(MeanSquare(first.voxels, third.voxels), 100);
}

TEST(Gated, DecadicLogarithmsAreTold) {
  const TemporaryDirectory directory;
  const auto heart = directory / "heart";
  ASSERT_EQ(Simulate(heart, {"--organ-motion", "heart"}).exit_code, 0);
  const std::vector<std::string> gates = {"--gates", "2"};
  EXPECT_THAT(Reconstruct(heart, directory / "v.mha", gates).err, Not(HasSubstr("decadic")));
  std::string pixels = ReadBytes(heart / "frames.raw");
  for (size_t at = 0; at < pixels.size(); at += sizeof(float)) {
    float line = 0;
    std::memcpy(&line, &pixels[at], sizeof line);
    line /= std::log(10.0F);
    std::memcpy(&pixels[at], &line, sizeof line);
  }
  WriteBytes(heart / "frames.raw", pixels);
  const Outcome told = Reconstruct(heart, directory / "v.mha", gates);
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.err, HasSubstr("phase 0.5: "));
  EXPECT_THAT(told.err, HasSubstr("as of line integrals that are decadic logarithms"));
}

TEST(Gated, WhatIsWrongIsNamed) {
  const TemporaryDirectory directory;
  const auto still = directory / "still", heart = directory / "heart";
  const auto out = directory / "v.mha";
  ASSERT_EQ(Simulate(still, {}).exit_code, 0);
  ASSERT_EQ(Simulate(heart, {"--organ-motion", "heart"}).exit_code, 0);
  EXPECT_THAT(Reconstruct(still, out, {"--phase", "0.5"}).err,
              HasSubstr("0 of 120 frames tell a phase"));
  EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5", "--phase-width", "0.01"}).err,
              HasSubstr("legal is 8 or more"));
  EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5", "--gates", "4"}).err,
              HasSubstr("legal is one of them"));
  EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5", "--cone-beam"}).err,
              HasSubstr("second passes are of all frames"));
  EXPECT_THAT(RunCommand({"simulate", "--phantom", "head", "--out", directory / "x",
                          "--organ-motion", "heart"})
                  .err,
              HasSubstr("legal is --phantom thorax"));
  EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5", "--cycle-rounds", "2"}).err,
              HasSubstr("--cycle-rounds with fdk with --phase or --gates"));
  EXPECT_THAT(Reconstruct(heart, out,
                          {"--phase", "0.5", "--algorithm", "os_sart", "--from-zero",
                           "--early-passes", "2"})
                  .err,
              HasSubstr("--early-passes with --phase or --gates"));
  EXPECT_THAT(Simulate(directory / "x", {"--trajectory", "circle", "--sweep-deg", "5"}).err,
              HasSubstr("--sweep-deg with --trajectory circle; legal is sine"));
  const std::string phases = ReadBytes(heart / "phases.txt");
  for (const std::string bad : {"nan", "1", "-0.25"}) {
    WriteBytes(heart / "phases.txt", bad + phases.substr(phases.find('\n')));
    EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5"}).err,
                HasSubstr("the phase of frame 0 is " + bad + "; legal is 0 to less than 1"));
  }
  WriteBytes(heart / "phases.txt", "0.5\n");
  EXPECT_THAT(Reconstruct(heart, out, {}).err, HasSubstr("has 1 phases; legal is one for each"));
}

TEST(Gated, PhasesAreCountedFromTheSignalsPeaks) {
  const TemporaryDirectory directory;
  const auto heart = directory / "heart";
  ASSERT_EQ(Simulate(heart, {"--organ-motion", "heart", "--cycles", "6"}).exit_code, 0);
  const auto told = std::move(*formats::OpenBundle(heart));
  std::string signal;
  for (int frame = 0; frame < 120; ++frame) {
    absl::StrAppend(&signal, 3 + std::cos(2 * M_PI * *told->phase(frame)), "\n");
  }
  WriteBytes(heart / "signal.txt", signal);
  const auto out = directory / "v.mha";
  EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5"}).err,
              HasSubstr("has phases.txt and signal.txt; legal is one of them"));
  std::filesystem::remove(heart / "phases.txt");
  const auto counted = formats::OpenBundle(heart);
  ASSERT_TRUE(counted.ok()) << counted.status();
  for (int frame = 25; frame < 95; ++frame) {  // between peaks
    const double apart = std::abs(*(*counted)->phase(frame) - *told->phase(frame));
    EXPECT_LT(std::min(apart, 1 - apart), 0.02) << "frame " << frame;
  }
  const Outcome done = Reconstruct(heart, out, {"--phase", "0.5"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.err, HasSubstr("note: signal.txt has "));
  EXPECT_THAT(done.err, HasSubstr("phases are counted from them"));
  WriteBytes(heart / "signal.txt", std::string(120 * 2, '\n'));
  EXPECT_THAT(Reconstruct(heart, out, {}).err, HasSubstr("has 0 numbers; legal is one for each"));
}

TEST(Gated, GatesAreRefinedTogether) {
  const TemporaryDirectory directory;
  const auto heart = directory / "heart";
  ASSERT_EQ(Simulate(heart, {"--organ-motion", "heart", "--cycles", "10"}).exit_code, 0);
  const std::vector<std::string> iterations{"--algorithm", "asd_pocs", "--iterations", "2",
                                            "--prior",     "3",        "--tv-steps",   "3"};
  std::vector<std::string> apart = iterations, together = iterations;
  apart.insert(apart.end(), {"--gates", "3", "--cycle-smoothing", "0"});
  together.insert(together.end(), {"--gates", "3", "--cycle-smoothing", "50", "--cycle-rounds", "2",
                                   "--json", directory / "beat.json"});
  ASSERT_EQ(Reconstruct(heart, directory / "apart.mha", apart).exit_code, 0);
  const Outcome done = Reconstruct(heart, directory / "beat.mha", together);
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("iteration 2 of 2"));
  const auto document = nlohmann::json::parse(ReadBytes(directory / "beat.json"));
  ASSERT_EQ(document["gates"].size(), 3u);
  EXPECT_EQ(document["gates"][2]["out"], (directory / "beat-2.mha").string());
  EXPECT_GT(document["gates"][2]["frames"], 30);
  EXPECT_GT(document["gates"][2]["largest_gap_deg"], 5);
  const auto read = [&](const std::string& name) {
    return formats::ReadMetaImage(directory / name)->voxels;
  };
  EXPECT_LT(MeanSquare(read("beat-0.mha"), read("beat-1.mha")),
            0.8 * MeanSquare(read("apart-0.mha"), read("apart-1.mha")));
  std::vector<std::string> one = iterations;
  one.insert(one.end(), {"--phase", "0.35"});
  ASSERT_EQ(Reconstruct(heart, directory / "one.mha", one).exit_code, 0);
  EXPECT_THAT(
      Reconstruct(heart, directory / "x.mha", {"--gates", "3", "--cycle-smoothing", "1"}).err,
      HasSubstr("phases learn of each other between iterations"));
  EXPECT_THAT(Reconstruct(heart, directory / "x.mha", {"--gates", "40"}).err,
              HasSubstr("of 120 frames; legal is 8 or more"));
}

TEST(Gated, AResidualThatRisesIsWarnedOf) {
  const TemporaryDirectory directory;
  const auto heart = directory / "heart";
  ASSERT_EQ(Simulate(heart, {"--organ-motion", "heart"}).exit_code, 0);
  const Outcome done =
      Reconstruct(heart, directory / "v.mha",
                  {"--phase", "0.5", "--algorithm", "asd_pocs", "--iterations", "6", "--subsets",
                   "4", "--prior", "1000", "--json", directory / "v.json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("warning: phase 0.5: the residual rises from "));
  EXPECT_THAT(ReadBytes(directory / "v.json"), HasSubstr("Is --prior (1000) too much for them?"));
}

TEST(Gated, OrbitsBeyondTheCircleAreForIterations) {
  const TemporaryDirectory directory;
  const auto sine = directory / "sine";
  ASSERT_EQ(Simulate(sine, {"--trajectory", "sine", "--sweep-deg", "12"}).exit_code, 0);
  const auto out = directory / "v.mha";
  EXPECT_THAT(Reconstruct(sine, out, {}).err, HasSubstr("leave the plane of the orbit by up to"));
  EXPECT_EQ(Reconstruct(sine, out, {"--algorithm", "os_sart", "--iterations", "1", "--from-zero"})
                .exit_code,
            0);
}

}  // namespace
}  // namespace isocenter::client_test
