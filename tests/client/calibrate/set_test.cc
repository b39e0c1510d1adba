// Which sweeps and scans a set may be of, and what becomes of its file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/client/calibrate/calibrate_fixture.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A polynomial of 130 kV in a set of 90 kV made water of 83 HU, without a word.
TEST_F(Calibrate, SweepsOfAnotherStationModeOrTubeVoltageAreRefused) {
  ASSERT_EQ(Detector(50, 95).exit_code, 0);
  v1::CalibrationSet set = Set();
  set.mutable_water()->add_coefficient(1);
  set.mutable_water()->set_mu_water_per_mm(0.02);
  WriteBytes(directory_ / "set", wire::CalibrationFile(set));
  WriteBytes(directory_ / "steps", "w130 20 0\n");
  Relabel("flat", "w130", "room3", "bin2", 130);
  Relabel("flat", "of_room9", "room9", "bin9", 90);
  const std::string before = ReadBytes(directory_ / "set");
  for (const std::vector<std::string>& part :
       {std::vector<std::string>{"air", "--sweep", Path("w130")},
        {"lag", "--step", Path("w130")},
        {"glare", "--disk", Path("w130")},
        {"beam-hardening", "--scan", Path("w130"), "--diameter-mm", "160"},
        {"bone", "--steps", Path("steps")},
        {"scatter", "--with", Path("flat"), "--without", Path("w130")},
        {"scatter-model", "--with", Path("w130"), "--without", Path("flat")}}) {
    std::vector<std::string> command = {"calibrate"};
    command.insert(command.end(), part.begin(), part.end());
    command.insert(command.end(), {"--into", Path("set")});
    const Outcome outcome = RunCommand(command);
    EXPECT_EQ(outcome.exit_code, 1) << part[0];
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(absl::StrCat(Path("w130"), ": calibration '")),
                                   HasSubstr("tube voltage 90 kV, and the acquisition of 130 kV"),
                                   HasSubstr("begins a set of their own")));
  }
  Outcome outcome =
      RunCommand({"calibrate", "lag", "--step", Path("of_room9"), "--into", Path("set")});
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("station 'room3', and the acquisition of 'room9'"),
                                 HasSubstr("mode 'bin2', and the acquisition of 'bin9'")));
  EXPECT_EQ(ReadBytes(directory_ / "set"), before);
  outcome =
      RunCommand({"calibrate", "geometry", "--sweep", Path("flat"), "--beads", "helix", "--station",
                  "room4", "--mode", "bin2", "--valid-days", "90", "--out", Path("arm.isocal")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("station 'room4', and the acquisition of 'room3'"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "arm.isocal"));
}

// As the service: a set that does not fit is refused, one that is not valid now said so.
TEST_F(Calibrate, ReconstructTakesOnlySetsThatFit) {
  ASSERT_EQ(Detector(50, 97).exit_code, 0);
  Simulate("scan", 40, 97, {"--phantom", "cylinder", "--scale-mm", "80"});
  Relabel("scan", "w130", "room3", "bin2", 130);
  Relabel("scan", "of_room5", "room5", "bin1", 90);
  Relabel("scan", "silent", "", "bin2", 0);
  const auto reconstruct = [&](const std::string& scan) {
    std::filesystem::remove(directory_ / "v.mha");
    return RunCommand({"reconstruct", "--overwrite", Path(scan), "--calibration", Path("set"),
                       "--grid", "32x32x4", "--voxel-mm", "6", "--out", Path("v.mha"), "--json",
                       Path("v.json")});
  };
  Outcome outcome = reconstruct("w130");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr(absl::StrCat("calibration '", Set().name(), "' does not fit: it is")),
                    HasSubstr("of tube voltage 90 kV, and the acquisition of 130 kV")));
  outcome = reconstruct("of_room5");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("station 'room3', and the acquisition of 'room5'"),
                                 HasSubstr("mode 'bin2', and the acquisition of 'bin1'")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "v.mha"));
  outcome = reconstruct("scan");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr("' has no water polynomial: HU are off"));
  outcome = reconstruct("silent");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  constexpr char kUntold[] = "the acquisition does not tell its station, tube voltage: that";
  EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("warning: ", kUntold)));
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr(kUntold));

  v1::CalibrationSet expired = Set();
  wire::SetTime(absl::FromUnixSeconds(0), *expired.mutable_valid_from());
  wire::SetTime(absl::FromUnixSeconds(86400), *expired.mutable_valid_until());
  WriteBytes(directory_ / "set", wire::CalibrationFile(expired));
  outcome = reconstruct("scan");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  constexpr char kExpired[] =
      "is valid from 1970-01-01 00:00 UTC to 1970-01-02 00:00 UTC, which is not now; it is used "
      "all the same";
  EXPECT_THAT(outcome.err, HasSubstr(kExpired));
  EXPECT_THAT(ReadBytes(directory_ / "v.json"), HasSubstr(kExpired));
}

// What is measured into a set that is over would not be used.
TEST_F(Calibrate, APartOfAnExpiredSetIsWarnedOf) {
  ASSERT_EQ(Detector(50, 38).exit_code, 0);
  Simulate("step", 160, 38, {"--sweep", "step"});
  v1::CalibrationSet expired = Set();
  wire::SetTime(absl::FromUnixSeconds(0), *expired.mutable_valid_from());
  wire::SetTime(absl::FromUnixSeconds(86400), *expired.mutable_valid_until());
  WriteBytes(directory_ / "set", wire::CalibrationFile(expired));
  const Outcome outcome =
      RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.err,
      AllOf(HasSubstr("to 1970-01-02 00:00 UTC, which is not now: a service refuses or warns"),
            HasSubstr("`isocenter calibrate detector` begins a new one")));
}

// The later of two would replace what the earlier measured.
TEST_F(Calibrate, TwoCommandsDoNotAddToOneSetAtOnce) {
  ASSERT_EQ(Detector(50, 38).exit_code, 0);
  Simulate("step", 160, 38, {"--sweep", "step"});
  const auto lag = [&] {
    return RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set")});
  };
  const int other = open(Path("set").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const Outcome outcome = lag();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("another `isocenter calibrate` adds to this set"));
  EXPECT_FALSE(Set().has_lag());
  close(other);
  EXPECT_EQ(lag().exit_code, 0);
  EXPECT_TRUE(Set().has_lag());
}

// A set of 90 kV and a sweep that does not say of how many it is.
TEST_F(Calibrate, WhatASweepDoesNotTellIsSaid) {
  ASSERT_EQ(Detector(50, 36).exit_code, 0);
  Simulate("step", 160, 36, {"--sweep", "step"});
  Relabel("step", "silent", "room3", "bin2", 0);
  const auto lag = [&](const std::string& sweep) {
    return RunCommand({"calibrate", "lag", "--step", Path(sweep), "--into", Path("set")});
  };
  const Outcome told = lag("step");
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_EQ(told.err.find("taken for granted"), std::string::npos);
  const Outcome untold = lag("silent");
  EXPECT_EQ(untold.exit_code, 0) << untold.err;
  EXPECT_THAT(untold.err, HasSubstr(absl::StrCat(
                              "warning: --step: ", Path("silent"),
                              ": the acquisition does not tell its tube voltage: that calibration "
                              "'",
                              Set().name(), "' fits is taken for granted")));
}

// Raw frames are off air by their gains and doses; corrected, they agree with each other.
TEST_F(Calibrate, ConsistencyIsJudgedOfCorrectedFrames) {
  ASSERT_EQ(Detector(50, 37).exit_code, 0);
  Simulate("scan", 100, 37, {"--phantom", "head", "--scale-mm", "80"});
  const auto consistency = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"consistency", Path("scan")});
    return RunCommand(more);
  };
  const Outcome raw = consistency({});
  EXPECT_EQ(raw.exit_code, 3) << raw.err;
  EXPECT_THAT(raw.err, HasSubstr("whether the frames agree was not judged"));
  EXPECT_THAT(raw.out, AllOf(HasSubstr("not judged: "), HasSubstr("air is not where it should be"),
                             HasSubstr("--calibration FILE takes them off")));
  EXPECT_EQ(raw.err.find("warning"), std::string::npos) << raw.err;
  const Outcome corrected = consistency({"--calibration", Path("set")});
  EXPECT_EQ(corrected.exit_code, 0) << corrected.err;
  EXPECT_THAT(corrected.out, HasSubstr("drift along the axis: 0."));
  EXPECT_EQ(corrected.err.find("warning"), std::string::npos) << corrected.err;
  Relabel("scan", "w130", "room3", "bin2", 130);
  const Outcome other = RunCommand({"consistency", Path("w130"), "--calibration", Path("set")});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("tube voltage 90 kV, and the acquisition of 130 kV"));
}

TEST_F(Calibrate, ConsistencyIsJudgedOfLineIntegrals) {
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--scale-mm", "80", "--pixel",
                        "line-integrals", "--frames", "100", "--detector", "124x96", "--pitch-mm",
                        "3.08", "--out", Path("lines")})
                .exit_code,
            0);
  const Outcome agree = RunCommand({"consistency", Path("lines")});
  EXPECT_EQ(agree.exit_code, 0) << agree.err << agree.out;
  EXPECT_THAT(agree.out, HasSubstr("drift along the axis: 0."));
  ASSERT_EQ(Detector(50, 33).exit_code, 0);
  const Outcome corrected =
      RunCommand({"consistency", Path("lines"), "--calibration", Path("set")});
  EXPECT_EQ(corrected.exit_code, 1) << corrected.out;
}

// A service keeps a name for good: what is added to a set that it has needs another one, and has to
// be the newer of both.
TEST_F(Calibrate, ASetGoesOnUnderAnotherName) {
  ASSERT_EQ(Detector(50, 33).exit_code, 0);
  Simulate("step", 160, 33, {"--sweep", "step"});
  v1::CalibrationSet first = Set();
  wire::SetTime(wire::TimeFromProto(first.created()) - absl::Hours(1), *first.mutable_created());
  WriteBytes(directory_ / "set", wire::CalibrationFile(first));
  const auto lag = [&](const std::string& name) {
    return RunCommand({"calibrate", "lag", "--step", Path("step"), "--into", Path("set"), "--name",
                       name, "--out", Path("next")});
  };
  EXPECT_THAT(lag("room 3").err, HasSubstr("name is 'room 3'; legal is 1 to 64 characters of"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "next"));
  const Outcome outcome = lag("room3-b");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("next: room3-b"));
  const v1::CalibrationSet next = *wire::ReadCalibrationFile("", Path("next"));
  EXPECT_EQ(next.name(), "room3-b");
  EXPECT_TRUE(next.has_lag());
  EXPECT_GT(wire::TimeFromProto(next.created()),
            wire::TimeFromProto(first.created()) + absl::Minutes(30));
  EXPECT_EQ(next.valid_until().seconds(), first.valid_until().seconds());
  EXPECT_EQ(Set().name(), first.name());
}

TEST_F(Calibrate, SetsThatAreThereAreNotReplacedUnasked) {
  ASSERT_EQ(Detector(50, 34).exit_code, 0);
  WriteBytes(directory_ / "taken", "what took a day to measure");
  Simulate("step", 160, 34, {"--sweep", "step"});
  const std::vector<std::vector<std::string>> commands = {
      {"calibrate", "detector", "--dark", Path("dark"), "--flat", Path("flat"), "--station",
       "room3", "--mode", "bin2", "--valid-days", "30", "--out", Path("taken")},
      {"calibrate", "lag", "--step", Path("step"), "--into", Path("set"), "--out", Path("taken")},
      {"calibrate", "geometry", "--sweep", Path("flat"), "--beads", "helix", "--station", "room3",
       "--mode", "bin2", "--valid-days", "30", "--out", Path("taken")},
      {"calibrations", "get", "room3", "--server", "127.0.0.1:1", "--out", Path("taken")}};
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = RunCommand(command);
    EXPECT_EQ(outcome.exit_code, 1) << command[1];
    EXPECT_THAT(outcome.err, HasSubstr("taken', which is there already; legal is another name, or "
                                       "--overwrite"));
  }
  EXPECT_EQ(ReadBytes(directory_ / "taken"), "what took a day to measure");
  std::vector<std::string> same = commands[1];
  same.back() = Path("set");  // that of --into
  EXPECT_EQ(RunCommand(same).exit_code, 0);
  std::vector<std::string> asked = commands[1];
  asked.emplace_back("--overwrite");
  EXPECT_EQ(RunCommand(asked).exit_code, 0);
  EXPECT_TRUE(wire::ReadCalibrationFile("", Path("taken"))->has_lag());
}

}  // namespace
}  // namespace isocenter::client_test
