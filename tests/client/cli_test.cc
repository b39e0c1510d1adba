// Runs the `isocenter` binary: exit codes, output and files, with a fake server behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/formats/bundle.h"
#include "client/formats/meta_image.h"
#include "kernels/base/units.h"
#include "kernels/geometry/motion_curve.h"
#include "tests/client/command.h"
#include "tests/client/fake_server.h"
#include "tests/client/small_bundle.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

void WriteVolume(const std::filesystem::path& path, float value) {
  formats::Volume volume{.grid = CenteredGrid(20, 20, 20, {10, 10, 10})};
  volume.voxels.assign(8000, value);
  ASSERT_TRUE(formats::WriteMetaImage(path, volume).ok());
}

TEST(Cli, ExitCodesTellUsageFromFailure) {
  EXPECT_EQ(RunCommand({"--help"}).exit_code, 0);
  EXPECT_THAT(RunCommand({"--version"}).out, HasSubstr("isocenter 0."));
  for (const char* command : {"simulate", "stream", "jobs", "watch", "cancel", "delete", "fetch",
                              "protocols", "render", "compare"}) {
    const Outcome help = RunCommand({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("--help")) << command;
  }
  EXPECT_EQ(RunCommand({}).exit_code, 2);
  EXPECT_EQ(RunCommand({"frobnicate"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"simulate", "--out", "x"}).exit_code, 2);  // neither phantom nor volume
  EXPECT_EQ(RunCommand({"simulate", "--phantom", "cube", "--out", "x"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"stream", "a", "--fps", "-3"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"render", "/nonexistent.mha", "--out", "x.png"}).exit_code, 4);
  EXPECT_EQ(RunCommand({"stream", "/nonexistent"}).exit_code, 4);
}

TEST(Cli, StreamSendsTheBundleWithOverridesAndWritesJson) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 6);
  const Outcome outcome = RunCommand({"stream", directory / "b", "--server", server.address(),
                                      "--protocol", "fdk", "--patient-id", "P2", "--grid", "16x8x4",
                                      "--voxel-mm", "2", "--json", directory / "r"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out,
              HasSubstr("4.50 GUPS (giga voxel updates per second) of back-projection"));
  EXPECT_EQ(server.frames_read(), 6);
  const v1::AcquisitionHeader header = server.header();
  EXPECT_EQ(header.patient_study().patient_id(), "P2");
  EXPECT_EQ(header.patient_study().accession_number(), "A1");
  EXPECT_EQ(header.protocol(), "fdk");
  EXPECT_EQ(header.grid().ny(), 8u);
  EXPECT_EQ(header.grid().origin_x_mm(), -15);
  const auto json = nlohmann::json::parse(ReadBytes(directory / "r"));
  EXPECT_EQ(json["job_id"], "job-1");
  EXPECT_EQ(json["frames"], 6);
  EXPECT_EQ(json["series_instance_uid"], "1.2.3");
}

TEST(Cli, StreamSaysTheJobAtOnceAndALineForEachState) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.before_acknowledge = [](int64_t) { absl::SleepFor(absl::Seconds(1)); };
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 3);
  Command command({"stream", directory / "b", "--server", server.address()});
  ASSERT_TRUE(server.WaitForFrames(1));
  // Long before the result.
  EXPECT_TRUE(command.AwaitOutput("job job-1\n"));
  const Outcome outcome = command.Wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("job job-1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\nreceiving: frames 1/0, "));
}

TEST(Cli, StandardOutputIsTheDocumentAlone) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 3);
  for (const std::vector<std::string>& json :
       {std::vector<std::string>{"--json", "-"}, {"--json=-"}, {"--json"}}) {
    std::vector<std::string> arguments{"stream", directory / "b", "--server", server.address()};
    arguments.insert(arguments.end(), json.begin(), json.end());
    const Outcome outcome = RunCommand(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string job = nlohmann::json::parse(outcome.out)["job_id"];
    EXPECT_THAT(outcome.err, StartsWith("job " + job + "\n"));
  }
}

TEST(Cli, StreamGoesOnWhereTheServerWants) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.next_frame_index = 4;
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 6);
  ASSERT_EQ(RunCommand({"stream", directory / "b", "--server", server.address()}).exit_code, 0);
  ASSERT_EQ(server.frames_read(), 3) << "two, and one that proves the scan";
  EXPECT_EQ(server.frames()[0].index(), 3u);
  EXPECT_EQ(server.frames()[1].index(), 4u);
  EXPECT_EQ(server.frames()[1].pixels()[0], 4);
}

// All frames of a scan tell a phase, or none does: also the one that proves it.
TEST(Cli, WhatProvesAScanTellsItsPhase) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.next_frame_index = 4;
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 6);
  std::ofstream(directory / "b/phases.txt") << "0\n0.125\n0.25\n0.375\n0.5\n0.625\n";
  const Outcome outcome = RunCommand({"stream", directory / "b", "--server", server.address()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(server.frames_read(), 3);
  for (const v1::Frame& frame : server.frames()) {
    ASSERT_TRUE(frame.has_phase()) << frame.index();
    EXPECT_EQ(frame.phase(), 0.125f * static_cast<float>(frame.index()));
  }
}

TEST(Cli, StreamDeclaresClassDeadlineRateAndPair) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 3);
  const Outcome outcome =
      RunCommand({"stream", directory / "b", "--server", server.address(), "--class", "batch",
                  "--deadline", "90", "--fps", "500", "--pair", "dsa-7", "--role", "fill"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const v1::AcquisitionHeader header = server.header();
  EXPECT_EQ(header.job_class(), v1::JOB_CLASS_BATCH);
  EXPECT_EQ(header.deadline_seconds(), 90);
  EXPECT_EQ(header.frame_rate_hz(), 500);
  EXPECT_EQ(header.pair().pair_id(), "dsa-7");
  EXPECT_EQ(header.pair().role(), v1::PAIR_ROLE_FILL);
  EXPECT_EQ(RunCommand({"stream", directory / "b", "--class", "urgent"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"stream", directory / "b", "--role", "subtraction"}).exit_code, 2);
  EXPECT_THAT(RunCommand({"stream", directory / "b", "--pair", "dsa-7"}).err,
              HasSubstr("--pair and --role"));
}

TEST(Cli, SkippedFramesAreNotSent) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 12);
  const Outcome outcome = RunCommand({"stream", directory / "b", "--server", server.address(),
                                      "--skip-frames", "0,5-7", "--json", directory / "r"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<uint32_t> indices;
  for (const v1::Frame& frame : server.frames()) indices.push_back(frame.index());
  EXPECT_THAT(indices, testing::ElementsAre(1, 2, 3, 4, 8, 9, 10, 11));
  EXPECT_EQ(nlohmann::json::parse(ReadBytes(directory / "r"))["frames"], 8);
  for (const char* list : {"5-3", "x", "1,", "1-2-3", "78-90", "10000", "0-11"}) {
    EXPECT_EQ(RunCommand({"stream", directory / "b", "--skip-frames", list}).exit_code, 2) << list;
  }
}

TEST(Cli, AnotherRunGoesOnWithTheJob) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 8);
  const std::string address = server.address();
  ASSERT_EQ(RunCommand({"stream", directory / "b", "--server", address, "--skip-frames", "3,6-7"})
                .exit_code,
            0);
  const Outcome outcome =
      RunCommand({"stream", directory / "b", "--server", address, "--resume", "job-1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<uint32_t> indices;
  for (const v1::Frame& frame : server.frames()) indices.insert(frame.index());
  EXPECT_EQ(indices.size(), 8u);
  EXPECT_EQ(server.acquisitions(), 1);
  const Outcome unknown =
      RunCommand({"stream", directory / "b", "--server", address, "--resume", "none"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("there is no job"));
}

TEST(Cli, BrokenConnectionsAreReported) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.break_at_frames = {2};
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 6);
  const Outcome outcome = RunCommand(
      {"stream", directory / "b", "--server", server.address(), "--json", directory / "r"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("reconnects"));
  EXPECT_EQ(nlohmann::json::parse(ReadBytes(directory / "r"))["reconnects"], 1);
}

TEST(Cli, WarningsAndPreviewsOfAStreamAndAJob) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.warns = true;
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 4);
  const Outcome stream = RunCommand(
      {"stream", directory / "b", "--server", server.address(), "--preview", directory / "p.png"});
  ASSERT_EQ(stream.exit_code, 0) << stream.err;
  EXPECT_EQ(stream.err,
            "isocenter: warning: frame 0 is dark\n"
            "isocenter: warning: 3 more, at frames 1, 2, 3, like: frame 0 is dark\n");
  EXPECT_EQ(ReadBytes(directory / "p.png").substr(1, 3), "PNG");
  const Outcome watch = RunCommand(
      {"watch", "job-1", "--server", server.address(), "--preview", directory / "w.png"});
  ASSERT_EQ(watch.exit_code, 0) << watch.err;
  EXPECT_EQ(watch.err, "isocenter: warning: frame 3 is dark\n");  // once, not once per change
  EXPECT_EQ(ReadBytes(directory / "w.png"), ReadBytes(directory / "p.png"));
}

TEST(Cli, PacingKeepsToTheClock) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 21);
  const absl::Time begin = absl::Now();
  ASSERT_EQ(RunCommand({"stream", directory / "b", "--server", server.address(), "--fps", "40"})
                .exit_code,
            0);
  // 20 intervals of 25 ms. No upper bound: the machine may be busy.
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(500));
}

TEST(Cli, ServerErrorsAreShownAsTheyAre) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.refuse = {grpc::StatusCode::NOT_FOUND, "there is no protocol 'x'; there are fdk"};
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 2);
  const Outcome outcome = RunCommand({"stream", directory / "b", "--server", server.address()});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.err, "isocenter: there is no protocol 'x'; there are fdk\n");
}

TEST(Cli, JobCommands) {
  FakeServer server;
  const std::string address = server.address();
  const Outcome table = RunCommand({"jobs", "--server", address});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, HasSubstr("job-4  receiving  interactive"));
  EXPECT_THAT(table.out, ContainsRegex("job-0 .* 0\\.250 s +61\\.0 s +4\\.50"));
  EXPECT_THAT(table.out, ContainsRegex("job-1 .* - +61\\.0 s +-"));
  const auto json = nlohmann::json::parse(RunCommand({"jobs", "--json", "--server", address}).out);
  ASSERT_EQ(json.size(), 5u);
  EXPECT_EQ(json[0]["result"]["kernel_gups"], 4.5);
  EXPECT_EQ(json[0]["result"]["seconds_after_last_frame"], 0.25);
  for (const char* of_acquisitions :
       {"kernel_gups", "whole_gups", "seconds_after_last_frame", "seconds_to_stored"}) {
    EXPECT_FALSE(json[1]["result"].contains(of_acquisitions)) << of_acquisitions;
  }
  EXPECT_EQ(json[1]["result"]["timings"]["total_seconds"], 61);
  EXPECT_THAT(RunCommand({"watch", "job-1", "--server", address}).out, HasSubstr("completed"));
  const Outcome failed = RunCommand({"watch", "bad", "--server", address});
  EXPECT_EQ(failed.exit_code, 7);
  EXPECT_THAT(failed.err, HasSubstr("the disk is full"));
  // This server completes what it is to cancel.
  const Outcome late = RunCommand({"cancel", "job-1", "--server", address});
  EXPECT_EQ(late.exit_code, 5);
  EXPECT_THAT(late.err, HasSubstr("job job-1 was completed before it could be cancelled"));
  EXPECT_TRUE(server.WaitForCancel("job-1"));
  EXPECT_EQ(RunCommand({"cancel", "none", "--server", address}).exit_code, 4);
  EXPECT_EQ(RunCommand({"delete", "active", "--server", address}).exit_code, 5);
  EXPECT_THAT(RunCommand({"protocols", "--server", address}).out, HasSubstr("fdk       yes"));
  EXPECT_THAT(RunCommand({"protocols", "fdk_soft", "--server", address}).out,
              HasSubstr("name: \"fdk_soft\""));
  EXPECT_EQ(RunCommand({"protocols", "x", "--server", address}).exit_code, 4);
  EXPECT_THAT(RunCommand({"protocols", "fdk_sfot", "--server", address}).err,
              HasSubstr("did you mean fdk_soft?"));
  EXPECT_THAT(RunCommand({"protocols", "hnn", "--server", address}).err,
              HasSubstr("there are: fdk, fdk_soft"));
}

TEST(Cli, AJobSaysWhatItWasCorrectedWith) {
  TemporaryDirectory directory;
  FakeServer server;
  const std::string address = server.address();
  const auto job =
      nlohmann::json::parse(RunCommand({"jobs", "--json", "--server", address}).out).at(0);
  EXPECT_EQ(job["calibration"]["name"], "room1-90kV");
  EXPECT_EQ(job["calibration"]["crc32c"], "0000beef");
  EXPECT_EQ(job["calibration"]["outside_validity"], true);
  EXPECT_EQ(job["calibration"]["create_time"], "2027-01-15T08:00:00.000Z");
  EXPECT_EQ(job["geometry"]["name"], "room1-beads");
  EXPECT_THAT(RunCommand({"watch", "job-1", "--server", address}).out,
              HasSubstr("calibration room1-90kV (outside of its validity)\n"
                        "geometry room1-beads\n"));
  WriteBundle(directory / "b", 2);
  const Outcome streamed = RunCommand(
      {"stream", directory / "b", "--server", address, "--json", directory / "job.json"});
  EXPECT_THAT(streamed.out,
              ContainsRegex("\ncalibration +room1-90kV \\(outside of its validity\\)"));
  EXPECT_THAT(streamed.out, ContainsRegex("\ngeometry +room1-beads"));
  EXPECT_EQ(nlohmann::json::parse(ReadBytes(directory / "job.json"))["geometry"]["name"],
            "room1-beads");
}

TEST(Cli, WatchAndRefineGoOnWhenTheConnectionBreaks) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"watch", "job-1"}, {"refine", "job-1", "--metal", "--wait"}}) {
    Behaviour behaviour;
    behaviour.break_watches = 1;
    FakeServer server(behaviour);
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--server", server.address()});
    const Outcome outcome = RunCommand(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("out of reach and is tried again"));
  }
}

TEST(Cli, AJobThatHadAllItsFramesIsTakenUpWithNone) {
  TemporaryDirectory directory;
  FakeServer server;
  WriteBundle(directory / "b", 2);
  ASSERT_EQ(RunCommand({"stream", directory / "b", "--server", server.address()}).exit_code, 0);
  const Outcome outcome =
      RunCommand({"stream", directory / "b", "--resume", "job-1", "--server", server.address()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("frames +none sent: the service had all of them"));
}

TEST(Cli, RefinePrintsEachIterationOnceAndWritesTheCurve) {
  FakeServer server;
  TemporaryDirectory directory;
  const std::string csv = (directory / "curve.csv").string(), png = (directory / "c.png").string();
  const Outcome accepted =
      RunCommand({"refine", "job-1", "--protocol", "r", "--server", server.address()});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_EQ(accepted.out, "job job-1-refined\n");
  const Outcome waited = RunCommand({"refine", "job-1", "--protocol", "r", "--curve", csv,
                                     "--curve", png, "--server", server.address()});
  EXPECT_EQ(waited.exit_code, 0) << waited.err;
  EXPECT_THAT(waited.out, StartsWith("job job-1-refined\nresidual: the share of"));
  EXPECT_THAT(waited.out, HasSubstr("one job only\n"
                                    "iteration 1/4  residual 0.5  1.5 s\n"
                                    "iteration 2/4  residual 0.25  objective 50  3.0 s\n"));
  EXPECT_THAT(waited.out, HasSubstr("iteration 4/4"));
  EXPECT_THAT(waited.out, HasSubstr("4 of 4 iterations"));
  EXPECT_THAT(ReadBytes(csv), HasSubstr("\n2,0.25,50,3.000000\n"));
  EXPECT_THAT(ReadBytes(png), HasSubstr("PNG"));
  const Outcome watched = RunCommand({"watch", "job-1-refined", "--server", server.address()});
  EXPECT_THAT(watched.out, HasSubstr("iteration 2/4  residual 0.25  objective 50  3.0 s\n"));

  const Outcome bad = RunCommand(
      {"refine", "job-1", "--protocol", "r", "--curve", "c.txt", "--server", server.address()});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("--curve is 'c.txt'; legal is a file that ends in .csv or .png"));
  const Outcome nothing = RunCommand({"refine", "job-1", "--server", server.address()});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--protocol is not given; legal without it are --metal"));
  EXPECT_EQ(
      RunCommand({"refine", "none", "--protocol", "r", "--server", server.address()}).exit_code, 4);
}

TEST(Cli, RefineAsksForASecondPass) {
  FakeServer server;
  const Outcome accepted =
      RunCommand({"refine", "job-1", "--metal", "--bone", "--wait", "--server", server.address()});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_THAT(accepted.out, HasSubstr("job job-1-second\n"));
  EXPECT_THAT(accepted.out, HasSubstr("job-1-second: second pass against metal and bone in "));
  const Outcome curve = RunCommand(
      {"refine", "job-1", "--scatter", "--curve", "c.png", "--server", server.address()});
  EXPECT_EQ(curve.exit_code, 2);
  EXPECT_THAT(curve.err, HasSubstr("--curve with --scatter; a second pass has no iterations"));
}

TEST(Cli, RefineAsksForOneAgainstTheConeBeamArtefact) {
  FakeServer server;
  const Outcome accepted =
      RunCommand({"refine", "job-1", "--cone-beam", "--server", server.address()});
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_THAT(accepted.out, HasSubstr("job job-1-second\n"));
}

TEST(Cli, RefineWritesTheMotionThatWasFound) {
  TemporaryDirectory directory;
  FakeServer server;
  const std::string poses = directory / "poses.csv", report = directory / "report.json";
  const Outcome moved = RunCommand({"refine", "job-1", "--motion", "--poses", poses, "--json",
                                    report, "--server", server.address()});
  EXPECT_EQ(moved.exit_code, 0) << moved.err;
  const nlohmann::json motion = nlohmann::json::parse(ReadBytes(report))["motion"];
  EXPECT_EQ(motion["largest_shift_mm"], 4);
  EXPECT_EQ(motion["poses"][0]["shift_mm"], nlohmann::json({-4.0, 0.0, 0.0}));
  const auto curve = ParseMotion(ReadBytes(poses));
  ASSERT_TRUE(curve.ok()) << curve.status();
  EXPECT_NEAR(curve->AtFrames(3)[2].turn_rad.z, DegreesToRadians(3), 1e-9);
  EXPECT_EQ(curve->AtFrames(3)[1], RigidPose());
  // It replaces nothing unasked.
  const Outcome again =
      RunCommand({"refine", "job-1", "--motion", "--poses", poses, "--server", server.address()});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("--overwrite"));
}

TEST(Cli, RefineSaysWithWhatMotionDoesNotGo) {
  FakeServer server;
  for (const std::string flag : {"--metal", "--bone", "--scatter", "--cone-beam"}) {
    const Outcome outcome =
        RunCommand({"refine", "job-1", "--motion", flag, "--server", server.address()});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, HasSubstr(flag + " with --motion; legal is one of them"));
  }
  EXPECT_THAT(
      RunCommand({"refine", "job-1", "--metal", "--poses", "p.csv", "--server", server.address()})
          .err,
      HasSubstr("--poses without --motion, which finds them"));
}

TEST(Cli, RefineHoldsAnEarlierJobBesideTheFrames) {
  FakeServer server;
  const auto refine = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"refine", "job-1", "--server", server.address()});
    return RunCommand(more);
  };
  const Outcome without = refine({"--metal", "--reference", "job-0"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--reference without --self-calibrate"));
  const Outcome itself = refine({"--self-calibrate", "--reference", "job-1"});
  EXPECT_EQ(itself.exit_code, 2);
  EXPECT_THAT(itself.err, HasSubstr("--reference is job-1, whose frames are refined; legal is an "
                                    "earlier job of the same patient"));
  const Outcome taken = refine({"--self-calibrate", "--reference", "job-0"});
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_EQ(taken.out, "job job-1-second\n");
  // A service of before ignores the field.
  const Outcome ignored = refine({"--self-calibrate", "--reference", "unknown-field"});
  EXPECT_EQ(ignored.exit_code, 1);
  EXPECT_THAT(ignored.err, HasSubstr("the service knows no references, and job job-1-second is of "
                                     "frames alone; legal is a service of this version"));
  EXPECT_THAT(ignored.err, HasSubstr("isocenter cancel job-1-second"));
}

TEST(Cli, FetchWritesFilesOrNothing) {
  TemporaryDirectory directory;
  FakeServer server;
  const std::string address = server.address();
  ASSERT_EQ(RunCommand({"fetch", "job-1", "--out", directory / "d", "--server", address}).exit_code,
            0);
  EXPECT_EQ(ReadBytes(directory.path() / "d" / "slice1.dcm"), "first second");
  ASSERT_EQ(RunCommand({"fetch", "job-1", "--out", directory / "v.mha", "--format", "mha",
                        "--server", address})
                .exit_code,
            0);
  const auto volume = formats::ReadMetaImage(directory / "v.mha");
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_THAT(volume->voxels, testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(volume->grid.origin, (Vec3{-7, 0, 0}));
  Behaviour cut;
  cut.cut_volume = true;
  FakeServer bad(cut);
  EXPECT_EQ(RunCommand({"fetch", "job-1", "--out", directory / "w.mha", "--format", "mha",
                        "--server", bad.address()})
                .exit_code,
            1);
  EXPECT_FALSE(std::filesystem::exists(directory / "w.mha"));
}

TEST(Cli, CompareMeasuresAKnownOffset) {
  TemporaryDirectory directory;
  WriteVolume(directory / "a.mha", 12.5f);
  WriteVolume(directory / "b.mha", 10.0f);
  const Outcome outcome = RunCommand(
      {"compare", directory / "a.mha", "--truth", directory / "b.mha", "--json", directory / "j"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(ReadBytes(directory / "j"));
  for (const char* region : {"central_slab", "sphere_30_mm", "sphere_60_mm", "whole"}) {
    // All values are exact in float32 and float64.
    EXPECT_EQ(json["regions"][region]["rmse_hu"], 2.5) << region;
    EXPECT_EQ(json["regions"][region]["bias_hu"], 2.5) << region;
    EXPECT_EQ(json["regions"][region]["max_abs_hu"], 2.5) << region;
  }
  EXPECT_EQ(json["regions"]["whole"]["voxels"], 8000);
}

TEST(Cli, RenderRefusesBadFlags) {
  TemporaryDirectory directory;
  WriteVolume(directory / "a.mha", 0);
  const std::string volume = directory / "a.mha", out = directory / "a.png";
  EXPECT_EQ(RunCommand({"render", volume, "--out", out, "--window", "-50,0"}).exit_code, 2);
  EXPECT_EQ(RunCommand({"render", volume, "--out", out, "--slice", "0,0,20"}).exit_code, 1);
  EXPECT_EQ(RunCommand({"render", volume, "--out", out, "--slice", "0,0"}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(RunCommand({"render", volume, "--out", out, "--window", "-50,400"}).exit_code, 0);
  EXPECT_EQ(ReadBytes(out).substr(1, 3), "PNG");
}

TEST(Cli, RenderHasARowForEachVolumeThatIsGiven) {
  TemporaryDirectory directory;
  WriteVolume(directory / "a.mha", 10);
  WriteVolume(directory / "b.mha", 20);
  const auto height = [&](std::vector<std::string> given) {
    const std::string out = directory / "sheet.png";
    given.insert(given.begin(), {"render", directory / "a.mha", "--out", out});
    EXPECT_EQ(RunCommand(given).exit_code, 0);
    const std::string png = ReadBytes(out);
    return static_cast<uint8_t>(png[22]) << 8 | static_cast<uint8_t>(png[23]);  // of IHDR
  };
  const std::string other = directory / "b.mha";
  const int one = height({}), two = height({"--before", other}), row = two - one;
  EXPECT_GT(row, 20);
  EXPECT_EQ(height({"--truth", other}), one + 2 * row);
  EXPECT_EQ(height({"--truth", other, "--before", other}), one + 3 * row);
  EXPECT_EQ(RunCommand({"render", other, "--out", directory / "s.png", "--before", "/none.mha"})
                .exit_code,
            4);
}

TEST(Cli, SimulatedPhantomHasItsTruthAndABundle) {
  TemporaryDirectory directory;
  const Outcome outcome =
      RunCommand({"simulate", "--phantom", "cylinder", "--out", directory / "b", "--frames", "3",
                  "--detector", "39x30", "--pitch-mm", "10", "--truth", directory / "t.mha",
                  "--truth-size", "9", "--truth-voxel-mm", "5", "--patient-id", "X1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  const auto source = formats::OpenBundle(directory / "b");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->header().patient_study().patient_name(), "Phantom^Cylinder");
  EXPECT_EQ((*source)->header().patient_study().patient_id(), "X1");
  EXPECT_EQ((*source)->header().frame_count(), 3u);
  EXPECT_EQ(formats::ReadBundleDescription(directory / "b")->at("phantom"), "cylinder");
  // The middle ray passes through 2 x 80 mm of water: 60000 exp(-3.2) = 2446; the pixel grid's
  // middle is up to half a pixel (4 mm at the isocentre) off the axis, which shortens the path by
  // 0.3 %.
  std::vector<uint16_t> frame(39 * 30);
  ASSERT_TRUE((*source)->Read(0, std::as_writable_bytes(std::span(frame))).ok());
  EXPECT_NEAR(frame[15 * 39 + 19], 2446, 40);
  const auto truth = formats::ReadMetaImage(directory / "t.mha");
  ASSERT_TRUE(truth.ok());
  EXPECT_NEAR(truth->voxels[4 * 81 + 40], 0, 1e-3);  // water, in float32
  EXPECT_EQ(RunCommand({"compare", directory / "t.mha", "--phantom", "cylinder"}).exit_code, 0);
}

TEST(Cli, DeidentificationIsCheckedBeforeAnythingIsFetched) {
  TemporaryDirectory directory;
  WriteBytes(directory / "short", "0123456789");
  const auto error = [&](std::vector<std::string> flags, int exit_code) {
    flags.insert(flags.begin(), {"fetch", "job-1", "--out", (directory / "out").string()});
    const Outcome outcome = RunCommand(flags);
    EXPECT_EQ(outcome.exit_code, exit_code);
    return outcome.err;
  };
  EXPECT_THAT(error({"--keep", "dates"}, 2), HasSubstr("need --deidentify"));
  EXPECT_THAT(error({"--deidentify", "--deidentify-key", (directory / "short").string()}, 1),
              HasSubstr("has 10 bytes; legal is 16 or more"));
  EXPECT_THAT(error({"--deidentify", "--format", "mha"}, 2), HasSubstr("legal is DICOM"));
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
}

}  // namespace
}  // namespace isocenter::client_test
