// What `isocenter reconstruct` and `consistency` say of scans that make a wrong image, or hardly
// fit their matrices, by the binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/formats/meta_image.h"
#include "tests/client/command.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ScanWarnings : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_ / name; }
  /// A head over an arc of a circle.
  std::string Scan(const std::string& name, const std::vector<std::string>& more = {},
                   const char* arc_deg = "200") const {
    std::vector<std::string> arguments = {
        "simulate", "--phantom",    "head",    "--out",      Path(name), "--frames",
        "120",      "--detector",   "155x120", "--pitch-mm", "2.464",    "--photons",
        "40000",    "--trajectory", "circle",  "--arc-deg",  arc_deg};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = RunCommand(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Path(name);
  }
  /// The same scan with another header.
  std::string With(const std::string& scan, const std::string& name,
                   const std::vector<std::pair<std::string, std::string>>& changes) const {
    std::filesystem::copy(scan, Path(name), std::filesystem::copy_options::recursive);
    const std::string header = Path(name) + "/acquisition.textproto";
    WriteBytes(header, absl::StrReplaceAll(ReadBytes(header), changes));
    return Path(name);
  }
  Outcome Reconstruct(const std::string& scan, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"reconstruct", scan, "--out", Path("v.mha"),
                                          "--overwrite"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand(arguments);
  }

  TemporaryDirectory directory_;
};

TEST_F(ScanWarnings, DecadicLogarithms) {
  const std::string scan = Scan("b", {"--pixel", "line-integrals"});
  const std::vector<std::string> size = {"--size", "64"};
  const Outcome right = Reconstruct(scan, size);
  EXPECT_EQ(right.exit_code, 0);
  EXPECT_THAT(right.err, Not(HasSubstr("decadic")));
  std::string pixels = ReadBytes(scan + "/frames.raw");
  for (size_t at = 0; at < pixels.size(); at += sizeof(float)) {
    float line = 0;
    std::memcpy(&line, &pixels[at], sizeof line);
    line /= std::log(10.0F);
    std::memcpy(&pixels[at], &line, sizeof line);
  }
  WriteBytes(scan + "/frames.raw", pixels);
  const Outcome wrong = Reconstruct(scan, {"--size", "64", "--json", "-"});
  EXPECT_EQ(wrong.exit_code, 0) << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("as of line integrals that are decadic logarithms"));
  EXPECT_THAT(wrong.out, HasSubstr("decadic logarithms"));
}

TEST_F(ScanWarnings, ALowGridAmongCoarseVoxels) {
  const std::string scan = Scan("b");
  const auto told = [&](const char* slices, const char* surroundings) {
    return Reconstruct(
               scan, {"--grid", absl::StrCat("64x64x", slices), "--voxel-mm", "3.3", "--algorithm",
                      "os_sart", "--iterations", "1", "--surroundings", surroundings})
        .err;
  };
  EXPECT_THAT(told("8", "4"), HasSubstr("warning: the grid has 8 slices, and in "));
  EXPECT_THAT(told("24", "4"), Not(HasSubstr("the grid has")));
}

TEST_F(ScanWarnings, PitchesThatAreNotThoseOfTheMatrices) {
  const std::string scan = Scan("b");
  const std::vector<std::string> size = {"--size", "32"};
  ASSERT_EQ(Reconstruct(scan, size).exit_code, 0);
  const auto first = formats::ReadMetaImage(Path("v.mha"));
  // In one direction the matrices tell.
  const std::string one = With(scan, "one", {{"pitch_u_mm: 2.464", "pitch_u_mm: 2.7"}});
  constexpr char kSides[] = "the matrices' pixels have sides in a ratio (u to v) of 1.0000";
  EXPECT_THAT(Reconstruct(one, size).err, HasSubstr(kSides));
  const Outcome consistency = RunCommand({"consistency", one});
  EXPECT_EQ(consistency.exit_code, 3);
  EXPECT_THAT(consistency.err,
              HasSubstr(absl::StrCat("isocenter: the matrices are implausible: ", kSides)));
  // In both nothing does, and no voxel hangs on it.
  const std::string both = With(
      scan, "both",
      {{"pitch_u_mm: 2.464", "pitch_u_mm: 2.7104"}, {"pitch_v_mm: 2.464", "pitch_v_mm: 2.7104"}});
  const Outcome same = Reconstruct(both, size);
  EXPECT_THAT(same.err, Not(HasSubstr("warning")));
  EXPECT_EQ(RunCommand({"consistency", both}).exit_code, 0);
  const auto again = formats::ReadMetaImage(Path("v.mha"));
  ASSERT_EQ(again->voxels.size(), first->voxels.size());
  for (size_t i = 0; i < first->voxels.size(); ++i) {
    ASSERT_NEAR(again->voxels[i], first->voxels[i], 0.01);
  }
}

TEST_F(ScanWarnings, AnArcThatIsLongerThanTheMatricesSay) {
  const std::string said = Path("said.csv");
  Scan("other", {"--matrices", said}, "206");
  const std::string scan = Scan("b");
  for (const Outcome& outcome : {Reconstruct(scan, {"--size", "32", "--matrices", said}),
                                 RunCommand({"consistency", scan, "--matrices", said})}) {
    EXPECT_THAT(outcome.err, HasSubstr("opposite rays agree best where the arc is "));
    EXPECT_THAT(outcome.err, HasSubstr("% shorter than the matrices say"));
  }
  // Pixels of 4.8 mm without noise, whose edges are interpolated, are none.
  const std::string coarse = Path("coarse");
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--out", coarse, "--frames", "200",
                        "--detector", "80x60", "--pitch-mm", "4.8", "--trajectory", "carm"})
                .exit_code,
            0);
  EXPECT_THAT(RunCommand({"consistency", coarse}).err, Not(HasSubstr("the arc is")));
}

}  // namespace
}  // namespace isocenter::client_test
