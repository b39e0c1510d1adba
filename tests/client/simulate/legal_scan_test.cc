// `isocenter simulate` writes no scan that a service refuses, and says what its scan does not show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A head in 24 frames of 62 x 48 pixels of 6.16 mm, which are as wide as the default detector,
/// where the flags do not say otherwise.
Outcome Simulate(const TemporaryDirectory& directory, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"simulate", "--out", directory / "b", "--overwrite"};
  for (const auto& [flag, value] : {std::pair("--phantom", "head"),
                                    {"--frames", "24"},
                                    {"--detector", "62x48"},
                                    {"--pitch-mm", "6.16"}}) {
    if (std::ranges::find(more, flag) != more.end()) continue;
    arguments.insert(arguments.end(), {flag, value});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunCommand(arguments);
}

TEST(LegalScan, WhatAServiceRefusesIsNotWritten) {
  const struct {
    std::vector<std::string> flags;
    int exit_code;
    const char* told;
  } wrong[] = {
      {{"--tube-voltage", "0.09"},
       2,
       "--tube-voltage is 0.09; legal is 0 (unknown) or 10 to 300 kV: was it given in MV?"},
      {{"--tube-voltage", "9"}, 2, "--tube-voltage is 9; legal is 0 (unknown) or 10 to 300 kV"},
      {{"--patient-name", "a=b=c=d"}, 2, "--patient-name is 'a=b=c=d'; legal is at most 3 groups"},
      {{"--accession", "12345678901234567"}, 2, "--accession is '12345678901234567'"},
      {{"--laterality", "X"}, 2, "--laterality is 'X'; legal is L or R"},
      {{"--model", "C"}, 2, "legal is with --manufacturer"},
      {{"--sid-mm", "75", "--sdd-mm", "120"},
       2,
       "--sid-mm is 75; legal is 100 to 10000 mm: was it given in cm?"},
      {{"--sdd-mm", "120"},
       2,
       "--sdd-mm is 120; legal is above --sid-mm, which is 750, up to 7500 mm: was it given in "
       "cm?"},
      {{"--sdd-mm", "7600"}, 2, "--sdd-mm is 7600; legal is above --sid-mm, which is 750, up to"},
  };
  for (const auto& [flags, exit_code, told] : wrong) {
    TemporaryDirectory directory;
    const Outcome outcome = Simulate(directory, flags);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(told));
    EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << told;
  }
}

TEST(LegalScan, ATableOfMatricesIsNamedByItsFile) {
  TemporaryDirectory directory;
  ASSERT_EQ(Simulate(directory, {"--matrices", directory / "m.csv"}).exit_code, 0);
  const std::string table = ReadBytes(directory / "m.csv");
  const size_t second = table.rfind("\n1,") + 3;  // the first element of frame 1
  ASSERT_NE(table.rfind("\n1,"), std::string::npos) << table.substr(0, 400);
  WriteBytes(directory / "m.csv",
             table.substr(0, second) + "1e30" + table.substr(table.find(',', second)));
  const Outcome outcome =
      Simulate(directory, {"--trajectory", directory / "m.csv", "--frames", "24"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("m.csv, frame 1: element 0 (row 0, column 0) is 1e+30"));
}

TEST(LegalScan, MatricesInCentimetresAreNotWritten) {
  TemporaryDirectory directory;
  ASSERT_EQ(Simulate(directory, {"--matrices", directory / "m.csv"}).exit_code, 0);
  // The world in centimetres: the first three columns of each matrix times ten.
  std::string table = ReadBytes(directory / "m.csv"), scaled;
  size_t column = 0;
  std::string cell;
  bool comment = false;
  for (const char c : table) {
    if (c == '#') comment = true;
    if (comment || (c != ',' && c != '\n')) {
      (comment ? scaled : cell) += c;
      if (c == '\n') comment = false;
      continue;
    }
    if (column > 0 && column % 4 != 0) cell = std::to_string(std::stod(cell) * 10);
    scaled += cell + c;
    cell.clear();
    column = c == '\n' ? 0 : column + 1;
  }
  WriteBytes(directory / "cm.csv", scaled);
  const Outcome outcome = Simulate(directory, {"--trajectory", directory / "cm.csv"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("legal is 100 to 10000 mm: are the matrices in millimetres?"));
}

TEST(LegalScan, AnObjectThatFitsIsNotWarnedOf) {
  TemporaryDirectory directory;
  for (const char* phantom : {"head", "shepp-logan", "quality", "cylinder"}) {
    for (const char* trajectory : {"carm", "circle", "tilted"}) {
      const Outcome outcome =
          Simulate(directory, {"--phantom", phantom, "--trajectory", trajectory});
      EXPECT_THAT(outcome.err, Not(HasSubstr("wider than the detector"))) << phantom << trajectory;
    }
  }
}

TEST(LegalScan, WhatTheDetectorCutsIsTold) {
  TemporaryDirectory directory;
  const Outcome outcome = Simulate(directory, {"--detector", "31x48"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              testing::ContainsRegex("the object is wider than the detector's field of 118\\.5 "
                                     "mm at the isocentre: of its width up to [0-9.]+ mm \\([0-9]+ "
                                     "%\\) are cut"));
  // What one side lacks, the other has seen on a full turn.
  const Outcome displaced =
      Simulate(directory, {"--detector", "40x48", "--trajectory", "circle", "--displace-px", "15"});
  EXPECT_EQ(displaced.exit_code, 0) << displaced.err;
  EXPECT_THAT(displaced.err, Not(HasSubstr("wider than the detector")));
}

// Matrices of finer pixels than --detector has: no shift brings the isocentre onto it.
TEST(LegalScan, NoShiftIsLegalWhereMatricesAreOfAnotherDetector) {
  const TemporaryDirectory directory;
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "cylinder", "--out", directory / "fine",
                        "--matrices", directory / "fine.csv", "--detector", "80x48", "--pitch-mm",
                        "2", "--frames", "12", "--trajectory", "circle"})
                .exit_code,
            0);
  const auto displaced = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command{"simulate",
                                     "--phantom",
                                     "cylinder",
                                     "--out",
                                     directory / "coarse",
                                     "--trajectory",
                                     directory / "fine.csv",
                                     "--detector",
                                     "20x12",
                                     "--pitch-mm",
                                     "8",
                                     "--displace-px",
                                     "2"};
    command.insert(command.end(), more.begin(), more.end());
    return RunCommand(command);
  };
  const Outcome other = displaced({});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("beside the detector of 20 columns, with any --displace-px; "
                                   "legal are --detector and --binning that its matrices are for"));
  EXPECT_EQ(displaced({"--binning", "4"}).exit_code, 0);
}

TEST(LegalScan, ASourceIsOutsideOfWhatItShinesThrough) {
  TemporaryDirectory directory;
  const Outcome outcome =
      Simulate(directory, {"--scale-mm", "400", "--sid-mm", "300", "--trajectory", "circle"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err,
              HasSubstr("the source of frame 0 is 300 mm from the isocentre, inside of "
                        "the object, which reaches to "));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// Whoever plans a sweep of a phantom should know before it is scanned.
TEST(LegalScan, BallsThatCannotBeMeasuredAreSaid) {
  const TemporaryDirectory directory;
  const auto beads = [&](const std::string& pitch_mm, const std::string& frames) {
    const Outcome done =
        RunCommand({"simulate", "--beads", "helix", "--out", directory / "b", "--overwrite",
                    "--detector", "155x120", "--pitch-mm", pitch_mm, "--frames", frames});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.err;
  };
  EXPECT_THAT(beads("2.464", "10"),
              HasSubstr("warning: `isocenter calibrate geometry` refuses this sweep: balls of this "
                        "table have shadows of about 0."));
  EXPECT_THAT(beads("0.6", "9"), HasSubstr("the sweep has 9 frames; legal is 10 to 10000"));
  EXPECT_THAT(beads("0.6", "10"), Not(HasSubstr("refuses this sweep")));
}

}  // namespace
}  // namespace isocenter::client_test
