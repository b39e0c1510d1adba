// Slips at the command line of isocenter-bench, which is that of isocenter in style and words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/client/command.h"

namespace isocenter::bench {
namespace {

using client_test::Outcome;
using client_test::RunCommand;
using testing::HasSubstr;
using testing::Not;

struct Slip {
  const char* arguments;
  int exit_code;
  const char* told;
};

constexpr Slip kSlips[] = {
    {"", 2, "a command is missing"},
    {"fdkk", 2, "there is no command 'fdkk'; did you mean fdk?"},
    {"recon", 2, "did you mean reconstruct?"},
    {"--size 64 fdk", 2, "--size stands before the command that it belongs to"},
    {"fdk --repeat 3", 2, "there is no flag --repeat; did you mean --repeats?"},
    {"fdk --repeats 0", 2, "--repeats is '0'; legal is a whole number from 1 to 1000"},
    {"fdk --repeats many", 2, "--repeats is 'many'; legal is a whole number from 1 to 1000"},
    {"fdk --size 64,7", 2, "--size is '7'; legal is a whole number from 16 to 2048"},
    {"fdk --repeats", 2, "--repeats needs a value"},
    {"fdk 64", 2, "'64' is one argument too many"},
    {"fdk --trajectory /nowhere/t.csv", 4, "/nowhere/t.csv"},
    {"backproject --backend cpuu", 2, "did you mean cpu?"},
    {"project --backend cpu --case R51", 2, "--case is 'R51'"},
    {"project --backend cpu --direction forth", 2, "legal is forward or back"},
    {"reconstruct --device-memory-limit 2Gbit", 2, "legal is a number of bytes"},
    {"rooms --fps -1", 2, "--fps is '-1'; legal is a number from 0 to 10000"},
    {"rooms --pixel int8", 2, "legal is uint16 or float32"},
    {"rooms --wait-results maybe", 2, "legal is yes or no"},
};

TEST(BenchSlips, AreToldAsThoseOfIsocenter) {
  for (const Slip& slip : kSlips) {
    const Outcome outcome = RunCommand(absl::StrSplit(slip.arguments, ' ', absl::SkipEmpty()));
    EXPECT_EQ(outcome.exit_code, slip.exit_code) << slip.arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(slip.told)) << slip.arguments;
    EXPECT_THAT(outcome.err, HasSubstr("isocenter-bench"));
    for (const char* words :
         {"Run with --help", "not in range", "A subcommand", "Could not convert"}) {
      EXPECT_THAT(outcome.err, Not(HasSubstr(words))) << slip.arguments;
    }
  }
}

TEST(BenchSlips, HelpIsInOurWords) {
  for (const char* command :
       {"--help", "fdk --help", "project --help", "rooms --help", "fan-beam --help"}) {
    const Outcome outcome = RunCommand(absl::StrSplit(command, ' '));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: isocenter-bench"));
    for (const char* words : {"FLOAT", "INT", "TEXT:", "SUBCOMMAND", "[["}) {
      EXPECT_THAT(outcome.out, Not(HasSubstr(words))) << command;
    }
    for (const absl::string_view line : absl::StrSplit(outcome.out, '\n')) {
      EXPECT_LE(line.size(), 100u) << line;
    }
  }
  EXPECT_THAT(RunCommand({"fdk", "--help"}).out, HasSubstr("default 256,512"));
}

}  // namespace
}  // namespace isocenter::bench
