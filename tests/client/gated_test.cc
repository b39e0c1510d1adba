// Organs that move: `isocenter simulate --organ-motion`, phases in bundles, and `isocenter
// reconstruct --phase` and `--phases`, by the binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

Outcome Simulate(const std::filesystem::path& out, std::vector<std::string> more) {
  more.insert(more.begin(),
              {"simulate", "--phantom", "thorax", "--out", out, "--frames", "120", "--detector",
               "62x48", "--pitch-mm", "6.16", "--pixel", "line-integrals"});
  return RunCommand(more);
}

Outcome Reconstruct(const std::filesystem::path& bundle, const std::filesystem::path& out,
                    std::vector<std::string> more) {
  more.insert(more.begin(), {"reconstruct", bundle, "--out", out, "--grid", "32x32x24",
                             "--voxel-mm", "6.5", "--backend", "cpu"});
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
  const Outcome four = Reconstruct(bundle, directory / "beat.mha", {"--phases", "4"});
  ASSERT_EQ(four.exit_code, 0) << four.err;
  EXPECT_THAT(four.out, HasSubstr("phase 0.75, width 0.25: "));
  EXPECT_THAT(four.err, HasSubstr("leaves streaks"));
  const auto first = *formats::ReadMetaImage(directory / "beat-0.mha");
  const auto third = *formats::ReadMetaImage(directory / "beat-2.mha");
  EXPECT_GT(MeanSquare(first.voxels, third.voxels), 100);
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
  EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5", "--phases", "4"}).err,
              HasSubstr("legal is one of them"));
  EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5", "--cone-beam"}).err,
              HasSubstr("second passes are legal of all frames only"));
  EXPECT_THAT(RunCommand({"simulate", "--phantom", "head", "--out", directory / "x",
                          "--organ-motion", "heart"})
                  .err,
              HasSubstr("legal is --phantom thorax"));
  const std::string phases = ReadBytes(heart / "phases.txt");
  for (const std::string bad : {"nan", "1", "-0.25"}) {
    WriteBytes(heart / "phases.txt", bad + phases.substr(phases.find('\n')));
    EXPECT_THAT(Reconstruct(heart, out, {"--phase", "0.5"}).err,
                HasSubstr("the phase of frame 0 is " + bad + "; legal is 0 to less than 1"));
  }
  WriteBytes(heart / "phases.txt", "0.5\n");
  EXPECT_THAT(Reconstruct(heart, out, {}).err, HasSubstr("has 1 phases; legal is one for each"));
}

TEST(Gated, IterationsBeginWithAllFrames) {
  const TemporaryDirectory directory;
  const auto heart = directory / "heart";
  ASSERT_EQ(Simulate(heart, {"--organ-motion", "heart", "--cycles", "10"}).exit_code, 0);
  const Outcome done =
      Reconstruct(heart, directory / "v.mha",
                  {"--phase", "0.35", "--algorithm", "asd_pocs", "--iterations", "2", "--prior",
                   "3", "--prior-image", "0.5", "--tv-steps", "3"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const auto volume = *formats::ReadMetaImage(directory / "v.mha");
  for (const float voxel : volume.voxels) ASSERT_TRUE(std::isfinite(voxel));
}

}  // namespace
}  // namespace isocenter::client_test
