// `isocenter simulate --motion`: frames of an object that moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_format.h"
#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
#include "kernels/base/units.h"
#include "kernels/geometry/motion_curve.h"
#include "proto/wire/geometry.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

constexpr int kFrames = 5;

Outcome Simulate(const std::filesystem::path& out, std::vector<std::string> more) {
  more.insert(more.begin(), {"simulate", "--phantom", "head", "--out", out, "--frames", "5",
                             "--detector", "62x48", "--pitch-mm", "6.16"});
  return RunCommand(more);
}

std::string Frames(const std::filesystem::path& bundle) { return ReadBytes(bundle / "frames.raw"); }

// The simulator moves the object: the same as an arm that moves the other way.
TEST(SimulateMotion, EqualsMovedMatricesAndTellsOfNone) {
  TemporaryDirectory directory;
  ASSERT_EQ(Simulate(directory / "still", {"--matrices", directory / "arm.csv"}).exit_code, 0);
  const Outcome moved =
      Simulate(directory / "moved",
               {"--motion", "smooth", "--motion-mm", "7", "--motion-deg", "5", "--poses",
                directory / "poses.csv", "--matrices", directory / "told.csv"});
  ASSERT_EQ(moved.exit_code, 0) << moved.err;
  EXPECT_EQ(ReadBytes(directory / "told.csv"), ReadBytes(directory / "arm.csv"));
  EXPECT_NE(Frames(directory / "moved"), Frames(directory / "still"));

  const auto poses = ReadMotionFile("--motion", directory / "poses.csv")->AtFrames(kFrames);
  EXPECT_GT(ExtentOf(poses).shift_mm, 3);
  const Trajectory seen = *SeenAtRest(*ReadTrajectoryCsv(directory / "arm.csv"), poses);
  std::string table;
  for (const ProjectionMatrix& matrix : seen) {
    for (int i = 0; i < 12; ++i) absl::StrAppendFormat(&table, i ? ",%.17g" : "%.17g", matrix.m[i]);
    table += '\n';
  }
  WriteBytes(directory / "seen.csv", table);
  ASSERT_EQ(Simulate(directory / "arm", {"--trajectory", directory / "seen.csv"}).exit_code, 0);
  const std::string a = Frames(directory / "moved"), b = Frames(directory / "arm");
  ASSERT_EQ(a.size(), b.size());
  int differing = 0;  // counts are rounded: poses come back to 1e-9 mm only
  for (size_t i = 0; i < a.size(); i += 2) differing += a.compare(i, 2, b, i, 2) != 0;
  EXPECT_LE(differing, 3);
  // The poses that were written make the same frames.
  ASSERT_EQ(Simulate(directory / "again", {"--motion", directory / "poses.csv"}).exit_code, 0);
  const std::string c = Frames(directory / "again");
  differing = 0;
  for (size_t i = 0; i < a.size(); i += 2) differing += a.compare(i, 2, c, i, 2) != 0;
  EXPECT_LE(differing, 3);
}

TEST(SimulateMotion, NoMotionAtAllIsAStillObject) {
  TemporaryDirectory directory;
  WriteBytes(directory / "rest.csv", "0.5 0 0 0 0 0 0\n");
  ASSERT_EQ(Simulate(directory / "still", {}).exit_code, 0);
  ASSERT_EQ(Simulate(directory / "rest", {"--motion", directory / "rest.csv"}).exit_code, 0);
  EXPECT_EQ(Frames(directory / "rest"), Frames(directory / "still"));
}

// The truth is the object at rest, or in the pose of a frame.
TEST(SimulateMotion, TheTruthHasTheChosenPose) {
  TemporaryDirectory directory;
  WriteBytes(directory / "m.csv", "0 0 0 0 0 0 0\n1 0 0 12 0 0 0\n");
  const auto truth = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(),
                {"--motion", directory / "m.csv", "--truth", directory / (name + ".mha"),
                 "--truth-size", "40", "--truth-voxel-mm", "6"});
    EXPECT_EQ(Simulate(directory / name, more).exit_code, 0);
    return formats::ReadMetaImage(directory / (name + ".mha"))->voxels;
  };
  const std::vector<float> rest = truth("rest", {}), last = truth("last", {"--truth-frame", "4"});
  const size_t two_slices = 2 * 40 * 40;
  for (size_t i = two_slices; i < rest.size(); ++i) {
    ASSERT_NEAR(last[i], rest[i - two_slices], 1e-3) << i;
  }
  const auto told = formats::ReadBundleDescription(directory / "last");
  EXPECT_EQ(told->at("motion"), "m.csv");
  EXPECT_EQ(told->at("truth_pose"), "frame 4");
  EXPECT_EQ(formats::ReadBundleDescription(directory / "rest")->at("truth_pose"), "rest");
}

TEST(SimulateMotion, SaysWhatIsWrong) {
  TemporaryDirectory directory;
  const auto error = [&](std::vector<std::string> more) {
    const Outcome outcome = Simulate(directory / "b", std::move(more));
    EXPECT_NE(outcome.exit_code, 0);
    return outcome.err;
  };
  WriteBytes(directory / "bad.csv", "0 0 0 0 0 0 0\n0.5 1 2\n");
  EXPECT_THAT(error({"--motion", directory / "bad.csv"}), HasSubstr("bad.csv: line 2"));
  EXPECT_THAT(error({"--motion", directory / "none.csv"}), HasSubstr("--motion"));
  EXPECT_THAT(error({"--poses", directory / "p.csv"}), HasSubstr("--poses needs --motion"));
  EXPECT_THAT(error({"--truth-frame", "1"}), HasSubstr("--truth-frame needs --motion"));
  EXPECT_THAT(error({"--motion", "jolt", "--truth-frame", "5"}), HasSubstr("legal is 0 to 4"));
}

}  // namespace
}  // namespace isocenter::client_test
