// Arcs that are too short for filtered back-projection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/formats/meta_image.h"
#include "tests/client/command.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LimitedArc : public testing::Test {
 protected:
  std::string Scan(const std::string& name, const std::string& arc_deg) {
    const std::string scan = directory_ / name;
    const Outcome made = RunCommand({"simulate",
                                     "--phantom",
                                     "cylinder",
                                     "--out",
                                     scan,
                                     "--pixel",
                                     "line-integrals",
                                     "--trajectory",
                                     "circle",
                                     "--arc-deg",
                                     arc_deg,
                                     "--frames",
                                     "60",
                                     "--detector",
                                     "62x24",
                                     "--pitch-mm",
                                     "6.16",
                                     "--truth",
                                     directory_ / (name + ".mha"),
                                     "--truth-size",
                                     "32"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return scan;
  }
  Outcome Reconstruct(const std::string& scan, std::vector<std::string> more) {
    std::vector<std::string> all{"reconstruct",        "--overwrite", scan, "--out",
                                 directory_ / "v.mha", "--size",      "32", "--json",
                                 directory_ / "v.json"};
    all.insert(all.end(), more.begin(), more.end());
    return RunCommand(all);
  }
  double RmseOf(const std::string& truth) {
    const Outcome compared = RunCommand(
        {"compare", directory_ / "v.mha", "--truth", directory_ / (truth + ".mha"), "--json"});
    EXPECT_EQ(compared.exit_code, 0) << compared.err;
    return nlohmann::json::parse(compared.out)["regions"]["central_slab"]["rmse_hu"];
  }
  TemporaryDirectory directory_;
};

TEST_F(LimitedArc, IsIteratedFromZeroWithAWarning) {
  const std::string scan = Scan("limited", "120");
  const Outcome made = Reconstruct(scan, {"--algorithm", "os_sart", "--iterations", "8"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // 120 degrees and a step; 180 and nine tenths of a fan of 17.98 degrees.
  EXPECT_THAT(made.err, AllOf(HasSubstr("warning: the arc is limited: 122.0 degrees, of 19"),
                              HasSubstr("The iteration begins with nothing")));
  const auto json = nlohmann::json::parse(ReadBytes(directory_ / "v.json"));
  ASSERT_EQ(json["warnings"].size(), 1u);
  // A volume that explains the frames, and is much nearer to the truth than the air it began with.
  EXPECT_LT(json["iterations"].back()["relative_residual"], 0.05);
  EXPECT_LT(RmseOf("limited"), 100);
  // The same as what one asks for by hand.
  const std::string volume = ReadBytes(directory_ / "v.mha");
  ASSERT_EQ(
      Reconstruct(scan, {"--algorithm", "os_sart", "--iterations", "8", "--from-zero"}).exit_code,
      0);
  EXPECT_EQ(ReadBytes(directory_ / "v.mha"), volume);
}

TEST_F(LimitedArc, IsNothingForFilteredBackProjection) {
  const Outcome refused = Reconstruct(Scan("limited", "120"), {});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("the trajectory's arc is 122.0"),
                                 HasSubstr("--algorithm os_sart and others begin with nothing")));
}

TEST_F(LimitedArc, ASufficientOneBeginsWithFilteredBackProjection) {
  const Outcome made =
      Reconstruct(Scan("short", "210"), {"--algorithm", "os_sart", "--iterations", "1"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, Not(HasSubstr("limited")));
  EXPECT_LT(RmseOf("short"), 100);
}

// What a service does while the arm turns, with files: the same passes in the same order.
TEST_F(LimitedArc, ASufficientOneMayBeginWithPassesOverSomeOfItsFrames) {
  const std::string scan = Scan("early", "210");
  const Outcome refused =
      Reconstruct(scan, {"--algorithm", "sirt", "--iterations", "2", "--early-passes", "6"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, HasSubstr("--early-passes is not for sirt; legal is 0, or os_sart"));
  // What only the scan's plan knows is told of the flag, too.
  const Outcome many = Reconstruct(scan, {"--algorithm", "os_sart", "--subsets", "9999"});
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.err, HasSubstr("--subsets is 9999; legal is at most the number of views"));
  const auto made = [&](const std::string& early) {
    const Outcome outcome =
        Reconstruct(scan, {"--algorithm", "os_sart", "--from-zero", "--iterations", "2",
                           "--momentum", "0.5", "--early-passes", early});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("warning")));
    return RmseOf("early");
  };
  const double without = made("0");
  EXPECT_LT(made("6"), 0.7 * without);
}

// Reversed frames are seen on a short scan of few of them; where they would not be, that is no
// agreement.
TEST_F(LimitedArc, WhatCouldNotBeCheckedDoesNotAgree) {
  const auto simulate = [&](const std::string& name, const char* arc_deg, const char* frames) {
    const Outcome made =
        RunCommand({"simulate", "--phantom", "head", "--trajectory", "circle", "--arc-deg", arc_deg,
                    "--frames", frames, "--detector", "200x48", "--pitch-mm", "1.9", "--out",
                    directory_ / name, "--matrices", directory_ / (name + ".csv")});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  };
  const auto consistency = [&](const char* scan, const char* matrices) {
    return RunCommand(
        {"consistency", directory_ / scan, "--matrices", directory_ / matrices, "--json"});
  };
  const auto judged = [](const Outcome& outcome) {
    return nlohmann::json::parse(outcome.out)["judged"].get<bool>();
  };
  simulate("there", "200", "90");
  simulate("back", "-200", "90");
  simulate("short", "120", "40");
  const Outcome good = consistency("there", "there.csv");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_TRUE(judged(good));
  const Outcome reversed = consistency("there", "back.csv");
  EXPECT_EQ(reversed.exit_code, 3);
  EXPECT_THAT(reversed.err, HasSubstr("in reversed order: the arm turned the other way"));
  const Outcome unchecked = consistency("short", "short.csv");
  EXPECT_EQ(unchecked.exit_code, 3);
  EXPECT_THAT(unchecked.err, HasSubstr("whether the frames agree was not judged"));
  EXPECT_FALSE(judged(unchecked));
}

}  // namespace
}  // namespace isocenter::client_test
