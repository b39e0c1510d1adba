// isocenter reconstruct --metal, --bone, --stripes, --rings and --complete-rows, by the binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "client/formats/meta_image.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"
#include "tests/client/xa_file.h"

namespace isocenter::client_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Volumes of one run: by these flags, on a grid that sees it whole.
std::vector<float> Reconstructed(const TemporaryDirectory& directory, const std::string& run,
                                 const std::vector<std::string>& flags) {
  const std::string mha = (directory / "volume.mha").string();
  std::vector<std::string> arguments{"reconstruct", "--overwrite", run,          "--out", mha,
                                     "--grid",      "48x48x32",    "--voxel-mm", "2.5"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const Outcome outcome = RunCommand(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  if (!flags.empty()) {
    EXPECT_THAT(outcome.out, HasSubstr("second pass against metal\n"));
    const bool has_metal = run.find("without") == std::string::npos;
    EXPECT_EQ(outcome.err.find("metal: no voxel above 3000 HU") == std::string::npos, has_metal)
        << outcome.err;
    EXPECT_EQ(outcome.err.find(" ml in 1 piece; ") != std::string::npos, has_metal) << outcome.err;
  }
  const auto volume = formats::ReadMetaImage(mha);
  EXPECT_TRUE(volume.ok()) << volume.status();
  return volume.ok() ? volume->voxels : std::vector<float>();
}

TEST(SecondPass, OfMetalChangesAVolumeThatHasSome) {
  const TemporaryDirectory directory;
  const std::string with = (directory / "with.dcm").string();
  const std::string without = (directory / "without.dcm").string();
  XaFile run;
  run.spheres = {{{20, 0, 0}, 12, 0.02}};
  ASSERT_TRUE(WriteXa(without, run));
  run.spheres.push_back({{-20, 0, 0}, 6, 0.2});
  ASSERT_TRUE(WriteXa(with, run));
  const std::vector<std::string> metal{"--metal", "--print-plan"};
  EXPECT_EQ(Reconstructed(directory, without, metal), Reconstructed(directory, without, {}));
  const auto first = Reconstructed(directory, with, {}),
             second = Reconstructed(directory, with, metal);
  ASSERT_EQ(first.size(), second.size());
  EXPECT_NE(first, second);
  EXPECT_EQ(*std::max_element(first.begin(), first.end()),
            *std::max_element(second.begin(), second.end()));
}

TEST(SecondPass, RingsAndStripesBesideOthers) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run.dcm").string();
  XaFile run;
  run.spheres = {{{20, 0, 0}, 12, 0.02}};
  ASSERT_TRUE(WriteXa(path, run));
  const std::string json = (directory / "volume.json").string();
  const auto reconstructed = [&](std::vector<std::string> flags) {
    const std::string mha = (directory / "volume.mha").string();
    flags.insert(flags.begin(), {"reconstruct", "--overwrite", path, "--out", mha, "--grid",
                                 "96x96x8", "--voxel-mm", "1.2", "--json", json});
    const Outcome outcome = RunCommand(flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return formats::ReadMetaImage(mha)->voxels;
  };
  const auto plain = reconstructed({});
  EXPECT_NE(reconstructed({"--stripes"}), plain);
  EXPECT_THAT(ReadBytes(json), ContainsRegex("\"stripes: [0-9.e-]+ of a line integral"));
  EXPECT_NE(reconstructed({"--rings"}), plain);
  EXPECT_THAT(ReadBytes(json), ContainsRegex("\"rings: [0-9.e-]+ HU .RMS., [0-9.e+-]+ HU at most"));
  EXPECT_NE(reconstructed({"--rings", "--algorithm", "sirt", "--iterations", "1"}),
            reconstructed({"--algorithm", "sirt", "--iterations", "1"}));
}

TEST(SecondPass, RowsThatTheDetectorCutsAreCompleted) {
  const TemporaryDirectory directory;
  const std::string scan = (directory / "scan").string(), json = (directory / "v.json").string();
  const std::string mha = (directory / "volume.mha").string();
  // Water of 200 mm on a detector that sees 160.
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "cylinder", "--scale-mm", "100", "--trajectory",
                        "circle", "--frames", "90", "--arc-deg", "356", "--detector", "64x16",
                        "--pitch-mm", "4", "--out", scan})
                .exit_code,
            0);
  const auto reconstruct = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"reconstruct", "--overwrite", scan, "--out", mha, "--grid",
                                 "40x40x4", "--voxel-mm", "3.5", "--json", json});
    return RunCommand(flags);
  };
  const auto middle = [&] {
    const std::vector<float> voxels = formats::ReadMetaImage(mha)->voxels;
    return voxels[(2 * 40 + 20) * 40 + 20];
  };
  EXPECT_THAT(reconstruct({}).err, HasSubstr("the patient is wider than the detector"));
  EXPECT_GT(std::abs(middle()), 60);
  const Outcome completed = reconstruct({"--complete-rows"});
  EXPECT_EQ(completed.exit_code, 0) << completed.err;
  EXPECT_LT(std::abs(middle()), 30);
  EXPECT_THAT(completed.err, testing::Not(HasSubstr("warning:")));
  EXPECT_THAT(ReadBytes(json),
              ContainsRegex("\"truncation: [0-9]+ % of the rows' ends are inside"));
  for (const auto& [flags, why] : {std::pair<std::vector<std::string>, const char*>{
                                       {"--truncation", "mirror"}, "with --truncation mirror"},
                                   {{"--metal"}, "with --metal; legal is one of them"},
                                   {{"--motion"}, "with --motion; legal is one of them"}}) {
    std::vector<std::string> both = flags;
    both.push_back("--complete-rows");
    const Outcome refused = reconstruct(both);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(why));
  }
}

TEST(SecondPass, SaysWhatItLacks) {
  const TemporaryDirectory directory;
  const std::string run = (directory / "run.dcm").string();
  XaFile file;
  file.spheres = {{{20, 0, 0}, 12, 0.02}};
  ASSERT_TRUE(WriteXa(run, file));
  const std::string mha = (directory / "volume.mha").string();
  const Outcome bone = RunCommand({"reconstruct", "--overwrite", run, "--out", mha, "--bone"});
  EXPECT_EQ(bone.exit_code, 1);
  EXPECT_THAT(bone.err, HasSubstr("has no calibration; legal for a correction of bone"));
  const Outcome scatter =
      RunCommand({"reconstruct", "--overwrite", run, "--out", mha, "--scatter"});
  EXPECT_EQ(scatter.exit_code, 1);
  EXPECT_THAT(scatter.err, HasSubstr("has no calibration; legal for a correction of scatter"));
  const Outcome sirt = RunCommand(
      {"reconstruct", "--overwrite", run, "--out", mha, "--metal", "--algorithm", "sirt"});
  EXPECT_EQ(sirt.exit_code, 2);
  EXPECT_THAT(sirt.err, HasSubstr("--metal with --algorithm sirt; legal is fdk"));
  const Outcome stripes = RunCommand(
      {"reconstruct", "--overwrite", run, "--out", mha, "--stripes", "--algorithm", "sirt"});
  EXPECT_THAT(stripes.err, HasSubstr("--stripes with --algorithm sirt; legal is fdk"));
}

}  // namespace
}  // namespace isocenter::client_test
