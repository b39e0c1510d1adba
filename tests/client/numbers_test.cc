// Every flag of the `isocenter` binary that takes a number states its range, and keeps to it.
#include "absl/strings/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/client/command.h"
#include "tests/client/small_bundle.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kCommands[] = {
    "simulate",  "reconstruct", "stream", "jobs",     "watch",       "cancel",
    "refine",    "trace",       "delete", "fetch",    "send",        "retry",
    "transfers", "protocols",   "health", "worklist", "steps",       "render",
    "drain",     "compare",     "resume", "status",   "destinations"};

struct Flag {
  std::string name;
  double least = 0, most = 0;
  int values = 1;
  std::string separator;
};

/// `--help` with the lines of each flag joined to one.
std::string HelpOf(const std::string& command) {
  return std::regex_replace(RunCommand({command, "--help"}).out, std::regex("\n {30}"), " ");
}

/// Of the lines "  --name VALUE   text [LEAST to MOST; ...]" of `--help`, with "each" and a VALUE
/// like XxY or X,Y,Z where there are several values.
std::vector<Flag> NumbersOf(const std::string& command) {
  const std::regex line(
      R"(\n  (--[a-z0-9-]+) (\S+) [^\n]*\[(required; )?(each )?(\S+) to ([^\s;\]]+)[;\]])");
  const std::string help = HelpOf(command);
  std::vector<Flag> flags;
  for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) {
    Flag flag{.name = (*at)[1]};
    EXPECT_TRUE(absl::SimpleAtod((*at)[5].str(), &flag.least)) << at->str();
    EXPECT_TRUE(absl::SimpleAtod((*at)[6].str(), &flag.most)) << at->str();
    if ((*at)[4].matched) {
      const std::string value = (*at)[2];
      flag.separator = absl::StrContains(value, ",") ? "," : "x";
      flag.values = static_cast<int>(std::ranges::count(value, flag.separator[0])) + 1;
    }
    flags.push_back(flag);
  }
  return flags;
}

/// What no flag of numbers may take but one whose range it is in.
const std::vector<std::pair<std::string, double>> kValues = {
    {"nan", NAN},
    {"inf", INFINITY},
    {"1e308", 1e308},
    {"-1", -1},
    {"0", 0},
    {"2147483648", 2147483648.0},
    {"9223372036854775808", 9223372036854775808.0},
    {"", NAN},
    {"many", NAN}};

TEST(Numbers, OutsideOfItsRangeEachIsWrongUsage) {
  int flags = 0, refused = 0;
  for (const char* command : kCommands) {
    for (const Flag& flag : NumbersOf(command)) {
      ++flags;
      for (const auto& [text, value] : kValues) {
        if (value >= flag.least && value <= flag.most) continue;
        if (text.empty() && flag.values > 1) continue;
        ++refused;
        const std::vector<std::string> all(flag.values, text);
        const std::string given = absl::StrJoin(all, flag.separator);
        const Outcome outcome = text.empty()
                                    ? RunCommand({command, flag.name, ""})
                                    : RunCommand({command, absl::StrCat(flag.name, "=", given)});
        EXPECT_EQ(outcome.exit_code, 2) << command << " " << flag.name << "=" << given;
        EXPECT_THAT(outcome.err,
                    AllOf(HasSubstr(flag.name), HasSubstr(absl::StrCat("'", text, "'; legal is a")),
                          HasSubstr(" to ")))
            << command << " " << flag.name << "=" << given;
      }
    }
  }
  EXPECT_GE(flags, 50);
  EXPECT_GE(refused, 350);
}

// One that is missing here has no range, or its help does not say so.
TEST(Numbers, NoneIsWithoutARange) {
  const std::regex number(R"(\n  (--[a-z0-9-]+) (N|NUMBER) [^\n]*)");
  const std::regex told(R"(\[(required; )?(\S+ to \S+|[0-9, ]+ or [0-9]+)(; [^\n]*)?\]$)");
  for (const char* command : kCommands) {
    const std::string help = HelpOf(command);
    for (std::sregex_iterator at(help.begin(), help.end(), number), end; at != end; ++at) {
      EXPECT_TRUE(std::regex_search(at->str(), told)) << command << ": " << at->str();
    }
  }
}

TEST(Numbers, LeaveNoFileWhereTheyAreWrong) {
  TemporaryDirectory directory;
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--arc-deg", "0"},
                                                {"--arc-deg", "-0.0"},
                                                {"--arc-deg", "nan"},
                                                {"--frames", "010x"},
                                                {"--sdd-mm", "inf"},
                                                {"--detector", "620"},
                                                {"--detector", "0x480"},
                                                {"--seed", "-1"},
                                                {"--raw-shape", "2x2x4097"},
                                                {"--raw-spacing", "1,1,nan"}}) {
    std::vector<std::string> arguments{"simulate", "--phantom", "head", "--out", directory / "b"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(RunCommand(arguments).exit_code, 2) << wrong[0] << " " << wrong[1];
  }
  const Outcome narrow = RunCommand({"simulate", "--phantom", "head", "--out", directory / "b",
                                     "--sid-mm", "700", "--sdd-mm", "600"});
  EXPECT_EQ(narrow.exit_code, 2);
  EXPECT_THAT(narrow.err, HasSubstr("--sdd-mm is 600; legal is above --sid-mm, which is 700"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Numbers, AFrameThatIsNotThereCannotBeSkipped) {
  TemporaryDirectory directory;
  WriteBundle(directory / "b", 12);
  for (const char* list : {"12", "3,50", "11-12", "4294967295", "-1", "0-11"}) {
    const Outcome outcome = RunCommand({"stream", directory / "b", "--server", "127.0.0.1:1",
                                        absl::StrCat("--skip-frames=", list)});
    EXPECT_NE(outcome.exit_code, 0) << list;
    EXPECT_THAT(outcome.err, HasSubstr("--skip-frames ")) << list;
    EXPECT_THAT(outcome.err, HasSubstr("; legal is ")) << list;
  }
  EXPECT_THAT(RunCommand({"stream", directory / "b", "--skip-frames", "500"}).err,
              HasSubstr("'500'; legal is e.g. 10,20-22 with frames from 0 to 11"));
}

}  // namespace
}  // namespace isocenter::client_test
