// Where the `isocenter` binary writes: what is refused before the work, what is never mixed,
// replaced or left half.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/formats/bundle.h"
#include "client/formats/file.h"
#include "client/formats/meta_image.h"
#include "client/formats/staged_directory.h"
#include "proto/wire/geometry.h"
#include "tests/client/command.h"
#include "tests/client/fake_server.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

std::set<std::string> NamesIn(const std::filesystem::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.insert(entry.path().filename());
  }
  return names;
}

using Names = std::set<std::string>;

Outcome Fetch(const FakeServer& server, const std::filesystem::path& out,
              std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"fetch", "job-1", "--out", out, "--server", server.address()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunCommand(arguments);
}

TEST(Fetch, TakesANewOrAnEmptyDirectory) {
  TemporaryDirectory directory;
  FakeServer server;
  std::filesystem::create_directory(directory / "empty");
  for (const char* name : {"empty", "new", "new/below", "slash/"}) {
    const std::filesystem::path out = directory / name;
    const Outcome outcome = Fetch(server, out);
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
    EXPECT_EQ(ReadBytes(out / "slice1.dcm"), "first second") << name;
  }
  EXPECT_EQ(NamesIn(directory / "empty"), (Names{"slice0.dcm", "slice1.dcm"}));
  EXPECT_EQ(NamesIn(directory.path()), (Names{"empty", "new", "slash"}));
}

TEST(Fetch, NeverMixesSeries) {
  TemporaryDirectory directory;
  FakeServer server;
  const auto out = directory / "used";
  std::filesystem::create_directory(out);
  WriteBytes(out / "slice0.dcm", "older");
  WriteBytes(out / "slice9.dcm", "older");
  const Outcome refused = Fetch(server, out);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("used', which holds 2 files (slice0.dcm, slice9.dcm)"),
                                 HasSubstr("--overwrite")));
  // What it does not replace would be mixed with it.
  const Outcome left_over = Fetch(server, out, {"--overwrite"});
  EXPECT_EQ(left_over.exit_code, 1);
  EXPECT_THAT(left_over.err, HasSubstr("used also holds 1 file (slice9.dcm)"));
  EXPECT_EQ(NamesIn(out), (Names{"slice0.dcm", "slice9.dcm"}));
  EXPECT_EQ(ReadBytes(out / "slice0.dcm"), "older");
  std::filesystem::remove(out / "slice9.dcm");
  EXPECT_EQ(Fetch(server, out, {"--overwrite"}).exit_code, 0);
  EXPECT_EQ(NamesIn(out), (Names{"slice0.dcm", "slice1.dcm"}));
  EXPECT_EQ(ReadBytes(out / "slice0.dcm"), "first second");
}

TEST(Fetch, LeavesNothingHalf) {
  TemporaryDirectory directory;
  Behaviour behaviour;
  behaviour.announced_files = 3;  // of which two come
  FakeServer server(behaviour);
  EXPECT_EQ(Fetch(server, directory / "new").exit_code, 1);
  std::filesystem::create_directory(directory / "there");
  EXPECT_EQ(Fetch(server, directory / "there").exit_code, 1);
  EXPECT_EQ(NamesIn(directory.path()), Names{"there"});
  EXPECT_EQ(NamesIn(directory / "there"), Names{});
}

TEST(StagedDirectory, IsThereAsAWholeOrNotAtAll) {
  TemporaryDirectory directory;
  const auto out = directory / "out";
  {
    auto staged = formats::StagedDirectory::Create(out);
    ASSERT_TRUE(staged.ok()) << staged.status();
    WriteBytes(staged->Add("a"), "1");
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  // A directory where a file is to go.
  std::filesystem::create_directories(out / "a");
  auto staged = formats::StagedDirectory::Create(out);
  ASSERT_TRUE(staged.ok()) << staged.status();
  WriteBytes(staged->Add("a"), "1");
  WriteBytes(staged->Add("b"), "2");
  EXPECT_THAT(std::string(staged->Commit().message()), HasSubstr("also holds 1 file (a)"));
  EXPECT_FALSE(std::filesystem::exists(out / "b"));
}

TEST(Outputs, WhatAKilledCommandHasLeftIsRemoved) {
  namespace fs = std::filesystem;
  TemporaryDirectory directory;
  // A process that has ended, which nobody else is for a while.
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  waitpid(ended, nullptr, 0);
  const auto left = [&](const std::string& name, absl::Duration ago) {
    const fs::path path = directory / name;
    WriteBytes(path, "half");
    fs::last_write_time(
        path, fs::file_time_type::clock::now() - std::chrono::seconds(absl::ToInt64Seconds(ago)));
    return path;
  };
  const absl::Duration old = absl::Minutes(11);
  const auto abandoned = left(absl::StrCat(".v.mha.", ended, ".part"), old);
  const auto fresh = left(absl::StrCat(".v.mha.", ended + 1, ".part"), absl::Minutes(9));
  const auto alive = left(absl::StrCat(".v.mha.", getppid(), ".part"), old);
  const auto other = left(absl::StrCat(".w.mha.", ended, ".part"), old);
  const auto mine = left("v.mha.part", old);
  ASSERT_TRUE(formats::WriteText(directory / "v.mha", "whole").ok());
  EXPECT_FALSE(fs::exists(abandoned));
  for (const fs::path& kept : {fresh, alive, other, mine}) EXPECT_TRUE(fs::exists(kept)) << kept;
  // A directory is as old as the newest file in it.
  const fs::path folder = directory / absl::StrCat(".s.", ended, ".part");
  fs::create_directory(folder);
  const auto slice = left(folder.filename().string() + "/1.dcm", absl::Minutes(1));
  fs::last_write_time(folder, fs::last_write_time(abandoned.parent_path()) - std::chrono::hours(1));
  { ASSERT_TRUE(formats::StagedDirectory::Create(directory / "s").ok()); }
  EXPECT_TRUE(fs::exists(folder));
  fs::last_write_time(slice, fs::last_write_time(slice) - std::chrono::hours(1));
  { ASSERT_TRUE(formats::StagedDirectory::Create(directory / "s").ok()); }
  EXPECT_FALSE(fs::exists(folder));
}

TEST(Outputs, ALinkToNothingIsToldAsOne) {
  TemporaryDirectory directory;
  std::filesystem::create_symlink("/nowhere/at/all", directory / "v.mha");
  FakeServer server;
  for (const char* format : {"mha", "dicom"}) {
    const Outcome outcome = RunCommand({"fetch", "job-1", "--server", server.address(), "--format",
                                        format, "--out", directory / "v.mha", "--overwrite"});
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("a link to /nowhere/at/all, where nothing is"));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "v.mha"));
}

/// Commands that write, with everything that they need but the destination. The inputs do not
/// exist: a destination that is refused is refused before any of them is read.
std::vector<std::pair<std::vector<std::string>, std::string>> Writers() {
  const std::string none = "/nonexistent/input";
  const std::string volume = none + ".mha";
  return {
      {{"reconstruct", none, "--out"}, ".mha"},
      {{"reconstruct", none, "--out", "here.mha", "--algorithm", "sirt", "--curve"}, ".csv"},
      {{"render", volume, "--out"}, ".png"},
      {{"compare", volume, "--phantom", "head", "--json"}, ".json"},
      {{"simulate", "--volume", volume, "--out", "here.rct", "--truth"}, ".mha"},
      {{"simulate", "--volume", volume, "--out", "here.rct", "--matrices"}, ".csv"},
      {{"simulate", "--volume", volume, "--out", "here.rct", "--motion", "jolt", "--poses"},
       ".csv"},
      {{"simulate", "--volume", volume, "--out"}, ".dcm"},
      {{"simulate", "--volume", volume, "--out"}, ".rct"},
      {{"stream", none, "--json"}, ".json"},
      {{"stream", none, "--preview"}, ".png"},
      {{"watch", "job-1", "--server", "127.0.0.1:1", "--preview"}, ".png"},
      {{"fetch", "job-1", "--server", "127.0.0.1:1", "--format", "mha", "--out"}, ".mha"},
      {{"refine", "job-1", "--protocol", "r", "--server", "127.0.0.1:1", "--curve"}, ".png"},
      {{"trace", "job-1", "--server", "127.0.0.1:1", "--out"}, ".json"},
  };
}

TEST(Outputs, AreCheckedBeforeTheWork) {
  TemporaryDirectory directory;
  for (const auto& [arguments, ending] : Writers()) {
    const std::string flag = arguments.back();
    const auto error = [&](const std::filesystem::path& path) {
      std::vector<std::string> all = arguments;
      all.push_back(path);
      const Outcome outcome = RunCommand(all);
      // 4: its directory is not there.
      EXPECT_THAT(outcome.exit_code, testing::AnyOf(1, 4)) << arguments[0] << " " << path;
      EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat(flag, " is '", path.string(), "'")));
      return outcome.err;
    };
    const auto name = [&](const char* stem) { return directory / (stem + ending); };
    EXPECT_THAT(error(directory / "absent" / ("file" + ending)),
                HasSubstr("there is no directory"));
    std::filesystem::create_directory(name("directory"));
    EXPECT_THAT(error(name("directory")), HasSubstr("a directory; legal is"));
    mkfifo(name("fifo").c_str(), 0600);
    EXPECT_THAT(error(name("fifo")), HasSubstr("a device or pipe; legal is"));
    WriteBytes(name("file"), "");
    EXPECT_THAT(error(name("file") / ("below" + ending)), HasSubstr("is not a directory"));
    std::filesystem::remove_all(name("directory"));
    std::filesystem::remove(name("fifo"));
    std::filesystem::remove(name("file"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

/// As Writers, of all flags of all commands, and whether they write data, which an exposure or an
/// hour of work was needed for.
struct Written {
  std::vector<std::string> arguments;
  std::string ending;
  bool is_data;
};

std::vector<Written> AllWritten() {
  const std::string none = "/nonexistent/input";
  const std::string volume = none + ".mha";
  const std::vector<std::string> beads{"calibrate", "geometry", "--sweep", none, "--beads", none};
  const auto and_then = [](std::vector<std::string> all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  std::vector<Written> all;
  for (const auto& [arguments, ending] : Writers()) {
    const std::string& flag = arguments.back();
    const bool is_picture = arguments[0] == "render" || arguments[0] == "trace";
    all.push_back({arguments, ending,
                   (flag == "--out" && !is_picture) || flag == "--truth" || flag == "--matrices" ||
                       flag == "--poses"});
  }
  all.push_back({{"reconstruct", none, "--out", "here.mha", "--motion", "--poses"}, ".csv", true});
  all.push_back({{"reconstruct", none, "--out", "here.mha", "--self-calibrate", "--matrices-out"},
                 ".csv",
                 true});
  all.push_back({{"fetch", "job-1", "--server", "127.0.0.1:1", "--out"}, ".nii", true});
  all.push_back({{"fetch", "job-1", "--server", "127.0.0.1:1", "--out"}, ".nii.gz", true});
  all.push_back({{"calibrations", "get", "s", "--server", "127.0.0.1:1", "--out"}, "", true});
  all.push_back({and_then(beads, {"--matrices"}), ".csv", true});
  all.push_back({and_then(beads, {"--matrices", "here.csv", "--picture"}), ".png", false});
  all.push_back({{"qa", volume, "--report"}, ".html", false});
  return all;
}

TEST(Outputs, DataIsReplacedWhenAskedForAndReportsAlways) {
  TemporaryDirectory directory;
  int data = 0, reports = 0;
  for (const Written& written : AllWritten()) {
    const std::string file = directory / absl::StrCat("file", written.ending);
    const std::string kept = written.ending == ".json" ? "{}" : "kept";
    WriteBytes(file, kept);
    std::vector<std::string> all = written.arguments;
    all.push_back(file);
    const std::string command = absl::StrJoin(all, " ");
    const std::string there = absl::StrCat(written.arguments.back(), " is '", file,
                                           "', which is there already; legal is another name, or "
                                           "--overwrite");
    const Outcome plain = RunCommand(all);
    // Of a report it is what the command reads, or the service, that is not there.
    EXPECT_THAT(plain.exit_code, testing::AnyOf(written.is_data ? 1 : 4, written.is_data ? 1 : 6))
        << command;
    if (written.is_data) {
      EXPECT_THAT(plain.err, HasSubstr(there)) << command;
      all.emplace_back("--overwrite");
      EXPECT_THAT(RunCommand(all).err, Not(HasSubstr("there already"))) << command;
    } else {
      EXPECT_THAT(plain.err, Not(HasSubstr("there already"))) << command;
    }
    EXPECT_EQ(ReadBytes(file), kept) << command;
    ++(written.is_data ? data : reports);
  }
  EXPECT_GE(data, 10);
  EXPECT_GE(reports, 8);
}

TEST(Outputs, JsonReplacesJsonOnly) {
  TemporaryDirectory directory;
  const std::string file = directory / "frames.raw";
  for (const Written& written : AllWritten()) {
    if (written.ending != ".json") continue;
    for (const std::string& kept : {std::string("pixels"), std::string("\0\1\2", 3)}) {
      WriteBytes(file, kept);
      std::vector<std::string> all = written.arguments;
      all.push_back(file);
      const Outcome outcome = RunCommand(all);
      EXPECT_EQ(outcome.exit_code, 1) << all.front();
      EXPECT_THAT(outcome.err, HasSubstr("which is there already and is no JSON")) << all.front();
      EXPECT_EQ(ReadBytes(file), kept) << all.front();
    }
  }
}

TEST(Outputs, ABundleIsADirectory) {
  TemporaryDirectory directory;
  WriteBytes(directory / "file", "kept");
  for (const auto& out : {directory / "file", directory / "file" / "below"}) {
    const Outcome outcome = RunCommand({"simulate", "--phantom", "head", "--out", out});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("is not a directory"));
  }
  EXPECT_EQ(ReadBytes(directory / "file"), "kept");
}

TEST(Outputs, SimulateSaysWhatItWroteAndReplacesNothingUnasked) {
  TemporaryDirectory directory;
  const std::string bundle = directory / "b", truth = directory / "t.mha",
                    matrices = directory / "m.csv", run = directory / "run.dcm";
  const std::vector<std::string> small{"--frames", "3", "--detector", "16x12", "--pitch-mm", "10"};
  const auto simulate = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"simulate", "--phantom", "head"});
    arguments.insert(arguments.end(), small.begin(), small.end());
    return RunCommand(arguments);
  };
  const std::vector<std::string> all{"--out",        bundle, "--truth",    truth,
                                     "--truth-size", "8",    "--matrices", matrices};
  const Outcome first = simulate(all);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, StartsWith(bundle + ": bundle of 3 frames of 16 x 12 pixels (counts), "
                                             "1.125 KiB, in "));
  EXPECT_THAT(first.out, HasSubstr("\n" + truth + "\n" + matrices + "\n"));
  ASSERT_EQ(simulate({"--out", run}).exit_code, 0);
  const std::string before = ReadBytes(truth);
  // Each for itself.
  EXPECT_THAT(simulate({"--out", bundle}).err,
              AllOf(HasSubstr("--out is '" + bundle + "', which holds 3 files"),
                    HasSubstr("legal is a directory that is empty or not there yet, or "
                              "--overwrite")));
  const std::string other = directory / "other";
  for (const auto& [flag, file] : {std::pair("--truth", truth), {"--matrices", matrices}}) {
    const Outcome refused = simulate({"--out", other, flag, file});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err,
                HasSubstr(absl::StrCat(flag, " is '", file,
                                       "', which is there already; legal is another name, or "
                                       "--overwrite")));
  }
  EXPECT_THAT(simulate({"--out", run}).err, HasSubstr("which is there already"));
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(ReadBytes(truth), before);
  std::vector<std::string> again = all;
  again.push_back("--overwrite");
  EXPECT_EQ(simulate(again).exit_code, 0);
}

TEST(Outputs, EndingsAreCheckedBeforeTheWork) {
  for (const auto& [arguments, ending] : Writers()) {
    const std::string flag = arguments.back();
    if (flag == "--json" || arguments[0] == "trace") continue;
    if (arguments[0] == "simulate" && flag == "--out") continue;  // it chooses by the ending
    std::vector<std::string> all = arguments;
    all.push_back("/tmp/x.txt");
    const Outcome outcome = RunCommand(all);
    EXPECT_EQ(outcome.exit_code, 2) << arguments[0];
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(flag + " is '/tmp/x.txt'"),
                                   HasSubstr("legal is a file that ends in"), HasSubstr(ending)));
  }
}

TEST(Outputs, DoNotReplaceWhatIsRead) {
  TemporaryDirectory directory;
  const std::string volume = directory / "v.mha";
  formats::Volume made{.grid = CenteredGrid(2, 2, 2, {1, 1, 1})};
  made.voxels.assign(8, 0);
  ASSERT_TRUE(formats::WriteMetaImage(volume, made).ok());
  const std::string before = ReadBytes(volume);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"simulate", "--volume", volume, "--out", directory / "b",
                                 "--truth", volume},
        {"compare", volume, "--phantom", "head", "--json", volume}}) {
    const Outcome outcome = RunCommand(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("which is read, too"));
  }
  EXPECT_EQ(ReadBytes(volume), before);
  // The data of a .mhd go to the .raw beside it.
  WriteBytes(directory / "w.raw", "12345678");
  const Outcome raw =
      RunCommand({"simulate", "--volume", directory / "w.raw", "--raw-shape", "2x2x1", "--out",
                  directory / "b", "--truth", directory / "w.mhd"});
  EXPECT_THAT(raw.err, HasSubstr("w.raw', which is read, too"));
}

TEST(Outputs, TheDiskHasRoomForWhatIsKnown) {
  TemporaryDirectory directory;
  // 4096^3 voxels of 4 bytes; 10000 frames of 8192 x 8192 pixels of 2 bytes.
  const Outcome truth =
      RunCommand({"simulate", "--phantom", "head", "--out", directory / "b", "--frames", "2",
                  "--truth", directory / "t.mha", "--truth-size", "4096"});
  EXPECT_THAT(truth.err, AllOf(HasSubstr("--truth is '"), HasSubstr("needs 256 GiB; "),
                               HasSubstr(" are free there")));
  const Outcome frames = RunCommand({"simulate", "--phantom", "head", "--out", directory / "b",
                                     "--frames", "10000", "--detector", "8192x8192"});
  EXPECT_THAT(frames.err, HasSubstr("needs 1.221 TiB; "));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Outputs, ADiskThatFillsIsToldWithWhatIsFreeAndNothingIsLeft) {
  TemporaryDirectory directory;
  const std::string volume = directory / "v.mha";
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--out", directory / "b", "--frames", "2",
                        "--detector", "62x48", "--pitch-mm", "6.16", "--truth", volume,
                        "--truth-size", "64"})
                .exit_code,
            0);
  // The limit of file sizes stands for the end of the disk: both fail in write().
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  Command render({"render", volume, "--out", directory / "p.png"});
  setrlimit(RLIMIT_FSIZE, &before);
  const Outcome outcome = render.Wait();
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.err, ContainsRegex("cannot write .*p\\.png: File too large; [0-9.]+ [KMGT]iB "
                                         "are free there"));
  EXPECT_FALSE(std::filesystem::exists(directory / "p.png"));
}

TEST(Outputs, AVolumeIsNoAcquisitionAndTheOtherWayRound) {
  TemporaryDirectory directory;
  const std::string bundle = directory / "b";
  ASSERT_EQ(RunCommand({"simulate", "--phantom", "head", "--out", bundle, "--frames", "2",
                        "--detector", "16x12"})
                .exit_code,
            0);
  EXPECT_THAT(RunCommand({"compare", bundle, "--phantom", "head"}).err,
              HasSubstr("is an acquisition and no volume; legal is what `isocenter reconstruct`"));
  EXPECT_THAT(RunCommand({"compare", bundle + "/frames.raw", "--phantom", "head"}).err,
              HasSubstr("a raw file does not say its size"));
  EXPECT_THAT(RunCommand({"stream", directory.path()}).err,
              HasSubstr("is a directory without bundle.json"));
}

// Whatever becomes of the preview's place later, the job is done.
TEST(Outputs, APreviewThatIsLostSpoilsNoJob) {
  TemporaryDirectory directory;
  FakeServer server;
  v1::AcquisitionHeader header;
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(60000);
  *header.mutable_detector() =
      wire::ToProto(Detector{.columns = 4, .rows = 2, .pitch_u_mm = 1, .pitch_v_mm = 1});
  header.set_frame_count(20);
  auto sink = formats::CreateBundle(directory / "b", header, {});
  ASSERT_TRUE(sink.ok()) << sink.status();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*sink)->Append(std::vector<std::byte>(16)).ok());
  ASSERT_TRUE((*sink)->Finish().ok());
  std::filesystem::create_directory(directory / "pictures");
  Command command({"stream", directory / "b", "--server", server.address(), "--fps", "20",
                   "--preview", directory / "pictures" / "p.png"});
  EXPECT_TRUE(server.WaitForFrames(1));
  std::filesystem::remove_all(directory / "pictures");
  const Outcome outcome = command.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
}  // namespace isocenter::client_test
