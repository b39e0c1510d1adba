// Records in files: where they go on, when a file is closed, what gives way when there is no room,
// and what a verification finds.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/audit/audit_file.h"
#include "server/audit/trail_reader.h"
#include "server/audit/verification.h"
#include "server/crypto/digests.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/audit/audit_events.h"

namespace isocenter::audit {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void Replace(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST(CheckFile, SaysWhatOpeningWouldWithoutMakingAnything) {
  const TemporaryDirectory directory;
  const fs::path folder = directory.path();
  EXPECT_TRUE(CheckFile((folder / "new" / "below" / "audit.jsonl").string()).ok());
  EXPECT_FALSE(fs::exists(folder / "new"));
  Replace(folder / "mine", "hello\n");
  const absl::Status mine = CheckFile((folder / "mine").string());
  EXPECT_THAT(std::string(mine.message()),
              AllOf(HasSubstr("audit.file is "), HasSubstr("holds no audit records")));
  EXPECT_EQ(AuditFile::Open({.path = (folder / "mine").string()}).status(), mine);
  EXPECT_FALSE(CheckFile((folder / "mine" / "audit.jsonl").string()).ok());
  EXPECT_FALSE(CheckFile(folder.string()).ok());
}

class FileTest : public ::testing::Test {
 protected:
  /// Files with room for some five records.
  FileOptions Options() {
    return {.path = path(), .max_bytes = 2500, .max_files = 3, .exported = exported_};
  }
  std::string path(const std::string& suffix = "") const {
    return (directory_.path() / "audit.jsonl").string() + suffix;
  }
  /// A run of the service that writes so many records.
  void Write(int records) {
    auto file = AuditFile::Open(Options());
    ASSERT_TRUE(file.ok()) << file.status();
    for (int i = 0; i < records; ++i) {
      const absl::Status written = file->Write(TestEvent());
      ASSERT_TRUE(written.ok()) << written;
    }
  }
  /// What a verification says, with its notes.
  std::string Verdict() const {
    const auto verified = Verify(directory_.path().string());
    if (!verified.ok()) return std::string(verified.status().message());
    std::string verdict = absl::StrCat(verified->first, " to ", verified->last.number);
    for (const std::string& note : verified->notes) absl::StrAppend(&verdict, "; ", note);
    return verdict;
  }

  TemporaryDirectory directory_;
  std::function<int64_t()> exported_;
};

TEST_F(FileTest, RecordsAreNumberedAndChainedOverFilesAndRuns) {
  Write(4);
  Write(9);
  const auto closed = ClosedFiles(path());
  ASSERT_THAT(closed, SizeIs(2));
  EXPECT_EQ(closed[0].path, path(".000000000001"));
  EXPECT_EQ(Verdict(), "1 to 13");
  EXPECT_EQ(Records(closed[0].path)[0].at("prev"), std::string(64, '0'));
  EXPECT_EQ(Records(path()).back().at("seq"), 13);
  struct stat about = {};
  ASSERT_EQ(stat(path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  for (const ClosedFile& file : closed) EXPECT_LE(fs::file_size(file.path), 2500u);
}

TEST_F(FileTest, NobodyElseWritesToItAlsoAfterItWasClosedAndMadeAnew) {
  {
    auto file = *AuditFile::Open(Options());
    for (int i = 0; i < 13; ++i) {  // two of them close a file
      ASSERT_TRUE(file.Write(TestEvent()).ok());
      const absl::Status second = AuditFile::Open(Options()).status();
      EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition) << i;
      EXPECT_THAT(std::string(second.message()),
                  AllOf(HasSubstr("audit.file is "),
                        HasSubstr(absl::StrCat("audit.jsonl is in use by another process (",
                                               getpid(), ")"))));
      EXPECT_EQ(CheckFile(path()), second);
      EXPECT_TRUE(CheckFile(path(), getpid()).ok());
    }
    EXPECT_EQ(ClosedFiles(path()).size(), 2u);
    fs::rename(path(), path(".taken"));
    file.Look();
    EXPECT_FALSE(AuditFile::Open(Options()).ok());
    ASSERT_TRUE(file.Write(TestEvent()).ok());
  }
  EXPECT_TRUE(CheckFile(path()).ok());
  Write(1);
  EXPECT_EQ(Verdict(), "1 to 15");
}

TEST_F(FileTest, ItsDirectoryIsMade) {
  const std::string below = (directory_.path() / "audit/of/site/audit.jsonl").string();
  const absl::Status made = AuditFile::Open({.path = below}).status();
  EXPECT_TRUE(made.ok()) << made;
  EXPECT_TRUE(fs::exists(below));
  const auto refused = AuditFile::Open({.path = absl::StrCat(below, "/audit.jsonl")}).status();
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(absl::StrCat("audit.file is ", below, "/audit.jsonl")),
                    HasSubstr("cannot make its directory")));
  const auto directory = AuditFile::Open({.path = directory_.path().string()}).status();
  EXPECT_THAT(std::string(directory.message()),
              AllOf(HasSubstr("audit.file is "), HasSubstr("cannot open")));
}

TEST_F(FileTest, TheDigestIsThatOfTheLineBeforeIt) {
  Write(1);
  const std::string line = Lines(path())[0];
  const std::string command = absl::StrCat("printf %s '", line.substr(0, line.find(",\"hash\":")),
                                           "' | sha256sum | cut -c 1-64");
  FILE* const tool = popen(command.c_str(), "r");
  char digest[65] = {};
  ASSERT_EQ(fread(digest, 1, 64, tool), 64u);
  pclose(tool);
  EXPECT_EQ(Records(path())[0].at("hash"), digest);
}

TEST_F(FileTest, AChangedByteIsFound) {
  Write(13);
  const auto whole = Content(path(".000000000001"));
  for (const size_t at :
       {size_t{20}, whole.find("WORKSTATION"), whole.size() / 2, whole.size() - 5}) {
    std::string changed = whole;
    changed[at] ^= 1;
    Replace(path(".000000000001"), changed);
    EXPECT_THAT(Verdict(),
                AllOf(HasSubstr("audit.jsonl.000000000001, line "), HasSubstr("behind record ")))
        << at;
  }
  Replace(path(".000000000001"), whole);
  EXPECT_EQ(Verdict(), "1 to 13");
}

TEST_F(FileTest, ARecordThatWasTakenAwayIsFound) {
  Write(4);
  const std::vector<std::string> lines = Lines(path());
  Replace(path(), absl::StrCat(lines[0], "\n", lines[1], "\n", lines[3], "\n"));
  EXPECT_THAT(Verdict(), HasSubstr("line 3, behind record 2: records 3 to 3 are missing"));
  Replace(path(), absl::StrCat(lines[0], "\n", lines[1], "\n", lines[1], "\n"));
  EXPECT_THAT(Verdict(), HasSubstr("record 2 is there again"));
}

TEST_F(FileTest, ARecordOfAnotherChainIsFound) {
  Write(3);
  const std::vector<std::string> lines = Lines(path());
  Link forged{.number = 1};
  Replace(path(), absl::StrCat(lines[0], "\n", Chain("{\"action\":\"query\"}", forged), "\n"));
  EXPECT_THAT(Verdict(), HasSubstr("record 2 goes on from another record 1"));
}

TEST_F(FileTest, AFileThatWasTakenAwayIsFound) {
  Write(13);
  const auto closed = ClosedFiles(path());
  ASSERT_THAT(closed, SizeIs(2));
  const int64_t second = closed[1].first;
  fs::rename(closed[1].path, directory_.path().parent_path() / "isocenter-audit-aside");
  EXPECT_THAT(Verdict(), HasSubstr(absl::StrCat("records ", second, " to ")));
  fs::rename(directory_.path().parent_path() / "isocenter-audit-aside", closed[1].path);
  // The oldest may have been collected: that is said, and is no fault.
  fs::remove(closed[0].path);
  EXPECT_THAT(Verdict(), HasSubstr(absl::StrCat("records 1 to ", second - 1, " are not here")));
  EXPECT_TRUE(Verify(directory_.path().string()).ok());
}

TEST_F(FileTest, ATornTailIsKeptAndStated) {
  for (const int run : {0, 1}) {
    Write(2);
    std::string text = Content(path());
    const size_t torn = 100 + run;
    Replace(path(), text + text.substr(0, torn));
    EXPECT_THAT(Verdict(), HasSubstr(absl::StrCat("ends with ", torn, " bytes of a record")));
    Write(1);
    EXPECT_THAT(Verdict(), HasSubstr(absl::StrCat(torn, " bytes of a record behind record ")));
    EXPECT_TRUE(Verify(directory_.path().string()).ok()) << Verdict();
    const auto last = nlohmann::json::parse(*(Lines(path()).end() - 2));
    EXPECT_EQ(last.at("action"), "trail");
    EXPECT_EQ(last.at("torn_bytes"), torn);
    if (run == 0) {  // then the file is closed
      EXPECT_THAT(Content(path()), HasSubstr(text.substr(0, torn) + "\n"));
    }
  }
}

TEST_F(FileTest, ATornTailThatNobodyStatedIsAFault) {
  Write(3);
  const std::vector<std::string> lines = Lines(path());
  Replace(path(), absl::StrCat(lines[0], "\n", lines[1].substr(0, 50), "\n", lines[2], "\n"));
  EXPECT_THAT(Verdict(), HasSubstr("line 2, behind record 1: it is no record"));
}

TEST_F(FileTest, ATornTailOfAFileThatIsThenClosed) {
  Write(5);
  const std::string text = Content(path());
  Replace(path(), text + text.substr(0, 300));
  Write(1);
  EXPECT_THAT(ClosedFiles(path()), SizeIs(1));
  EXPECT_THAT(Verdict(), HasSubstr("300 bytes of a record behind record 5 are stated by record 6"));
}

TEST_F(FileTest, ATornTailOfAFileThatIsClosedWhenTheServiceEnds) {
  Write(5);
  const std::string text = Content(path());
  fs::remove(path());
  Replace(ClosedName(path(), 1), text + text.substr(0, 300));
  Write(1);
  EXPECT_THAT(Verdict(), HasSubstr("300 bytes of a record behind record 5 are stated by record 6"));
}

TEST_F(FileTest, ATornFirstRecord) {
  Replace(path(), "{\"seq\":1,\"pr");
  Write(1);
  EXPECT_EQ(nlohmann::json::parse(Lines(path())[1]).at("torn_bytes"), 12);
  EXPECT_THAT(Verdict(), HasSubstr("1 to 2; 12 bytes of a record behind record 0"));
}

TEST_F(FileTest, DamagedLinesBeforeAStartAreStatedAndStayAFault) {
  Write(3);
  const std::vector<std::string> lines = Lines(path());
  std::string changed = lines[2];
  changed[100] ^= 1;
  Replace(path(), absl::StrCat(lines[0], "\n", lines[1], "\n", changed, "\n"));
  Write(1);
  EXPECT_THAT(Verdict(), HasSubstr("line 3, behind record 2"));
  EXPECT_THAT(Content(path()), HasSubstr("bytes before this record are no records"));
}

TEST_F(FileTest, ARecordBehindWhichNoneCouldFollowIsNone) {
  for (const char* number : {"0", "9223372036854775807", "9223372036854775808", "-1", "1e3"}) {
    const std::string line = absl::StrCat(R"({"seq":)", number, R"(,"prev":")", Link().hash, "\"");
    Replace(path(), absl::StrCat(line, R"(,"hash":")", crypto::Sha256Hex(line), "\"}\n"));
    EXPECT_FALSE(ReadChained(Lines(path())[0]).ok()) << number;
    Write(1);
    EXPECT_EQ(Records(path())[0].at("seq"), 1) << number;
    fs::remove(path());
  }
}

TEST_F(FileTest, AFileWithoutRecordsIsPutAside) {
  Write(8);
  Replace(path(), "{\"time\":\"2026-01-02T03:04:05.000Z\",\"action\":\"query\"}\n");
  const int64_t behind = Records(ClosedFiles(path())[0].path).back().at("seq");
  Write(1);
  EXPECT_THAT(Content(path(".unchained1")), HasSubstr("2026-01-02"));
  EXPECT_EQ(Records(path())[0].at("seq"), behind + 1);
  EXPECT_THAT(Content(path()), HasSubstr("audit.jsonl.unchained1"));
}

TEST_F(FileTest, AFileOfSomebodyElseIsRefusedAndLeftAsItIs) {
  for (const std::string& content : {std::string("SQLite format 3\0 and so on\n", 27),
                                     std::string("viewer:secret"), std::string("\nnotes\n")}) {
    Replace(path(), content);
    const auto opened = AuditFile::Open(Options());
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr("holds no audit records"));
    EXPECT_EQ(Content(path()), content);
    EXPECT_FALSE(fs::exists(path(".unchained1")));
  }
}

TEST_F(FileTest, NothingIsDroppedThatHasNotBeenExported) {
  auto file = *AuditFile::Open(Options());
  int written = 0;
  absl::Status status;
  while ((status = file.Write(TestEvent())).ok()) ++written;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("audit.jsonl.000000000001"), HasSubstr("max_files = 3")));
  EXPECT_EQ(Verdict(), absl::StrCat("1 to ", written));
  const Fill fill = file.fill();
  EXPECT_LE(fill.used_bytes, fill.limit_bytes);
  EXPECT_GT(fill.used_bytes, fill.limit_bytes / 2);
  EXPECT_EQ(ClosedFiles(path()).size(), 3u);
}

TEST_F(FileTest, WhatARecordSaysIsLostIsNotedAndTheTrailIsWhole) {
  FileOptions options = Options();
  options.max_bytes = 1 << 20;
  const auto lose = [&](int64_t records) {
    Event loss = TestEvent();
    loss.lost = records;
    ASSERT_TRUE(AuditFile::Open(options)->Write(loss).ok());
  };
  Write(2);
  lose(204);
  const std::string noted =
      absl::StrCat("204 records before record 3 (", path(),
                   ") could not be written and are lost: that record says so");
  EXPECT_EQ(Verdict(), "1 to 3; " + noted);
  lose(1);
  EXPECT_EQ(Verdict(),
            absl::StrCat("1 to 4; ", noted, "; 1 record before record 4 (", path(),
                         ") could not be written and are lost: that record says so; 205 records "
                         "are lost altogether, of which 2 records tell"));
  // However often, and however many it says: the notes stay readable.
  for (int i = 0; i < 30; ++i) lose(INT64_MAX);
  const auto verified = Verify(directory_.path().string());
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_THAT(verified->notes, SizeIs(21));
  EXPECT_THAT(verified->notes.back(),
              testing::EndsWith("records are lost altogether, of which 32 records tell"));
}

TEST_F(FileTest, WhatWasCollectedMakesRoom) {
  absl::Time now = absl::Now();
  FileOptions options = Options();
  options.clock = [&] { return now; };
  auto file = *AuditFile::Open(options);
  while (file.Write(TestEvent()).ok()) {
  }
  fs::remove(path(".000000000001"));
  now += absl::Seconds(2);
  EXPECT_TRUE(file.Write(TestEvent()).ok());
  EXPECT_EQ(ClosedFiles(path()).size(), 3u);
  EXPECT_TRUE(Verify(directory_.path().string()).ok()) << Verdict();
}

TEST_F(FileTest, WhatWasCollectedCountsNoMore) {
  auto file = *AuditFile::Open(Options());
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(file.Write(TestEvent()).ok());
  const uint64_t before = file.fill().used_bytes;
  const auto closed = ClosedFiles(path());
  fs::remove(closed[0].path);
  file.Look();
  EXPECT_EQ(file.fill().used_bytes, before - closed[0].bytes);
}

TEST_F(FileTest, AnOpenFileThatIsTakenAwayIsReplacedAndTheChainGoesOn) {
  auto file = *AuditFile::Open(Options());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(file.Write(TestEvent()).ok());
  fs::rename(path(), path(".taken"));
  file.Look();
  ASSERT_TRUE(file.Write(TestEvent()).ok());
  EXPECT_EQ(Records(path())[0].at("seq"), 4);
  EXPECT_EQ(Verdict(), "1 to 4");
}

TEST_F(FileTest, WhatWasSentMakesRoomAndNoMore) {
  int64_t sent = 0;
  exported_ = [&sent] { return sent; };
  auto file = *AuditFile::Open(Options());
  while (file.Write(TestEvent()).ok()) {
  }
  const auto closed = ClosedFiles(path());
  sent = closed[1].first - 2;  // all but one of the oldest file
  EXPECT_FALSE(file.Write(TestEvent()).ok());
  sent = closed[1].first - 1;
  EXPECT_TRUE(file.Write(TestEvent()).ok());
  EXPECT_FALSE(fs::exists(closed[0].path));
  EXPECT_TRUE(fs::exists(closed[1].path));
}

TEST_F(FileTest, AFullDiskTearsNoRecordAndLosesNoChain) {
  signal(SIGXFSZ, SIG_IGN);
  auto file = *AuditFile::Open(Options());
  ASSERT_TRUE(file.Write(TestEvent()).ok());
  const rlimit full{.rlim_cur = fs::file_size(path()) + 100, .rlim_max = RLIM_INFINITY};
  const rlimit enough{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_FALSE(file.Write(TestEvent()).ok());
  EXPECT_FALSE(file.Write(TestEvent()).ok());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &enough), 0);
  EXPECT_TRUE(file.Write(TestEvent()).ok());
  EXPECT_EQ(Verdict(), "1 to 2");
}

TEST_F(FileTest, ADirectoryThatIsMissingHasNoTrail) {
  const absl::Status missing = Verify("/nowhere").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "cannot read /nowhere: No such file or directory");
}

TEST_F(FileTest, ADirectoryWithoutRecordsIsNoWholeTrail) {
  const std::string expected = absl::StrCat("no audit records in ", directory_.path().string());
  EXPECT_EQ(Verify(directory_.path().string()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Verify(directory_.path().string()).status().message()),
              HasSubstr(expected));
  std::ofstream(directory_.path() / "notes.txt") << "nothing of the trail\n";
  EXPECT_THAT(std::string(Verify(directory_.path().string()).status().message()),
              HasSubstr(expected));
}

TEST_F(FileTest, AReaderFollowsTheFilesWhileTheyAreWritten) {
  TrailReader reader(path());
  EXPECT_EQ(reader.Next(0).status().code(), absl::StatusCode::kNotFound);
  auto file = *AuditFile::Open(Options());
  int64_t read = 0;
  for (int written = 1; written <= 17; ++written) {
    ASSERT_TRUE(file.Write(TestEvent()).ok());
    if (written % 4 != 1) continue;  // over the border of a file as well
    for (auto next = reader.Next(read); next.ok(); next = reader.Next(read)) {
      EXPECT_EQ(next->number, read + 1);
      EXPECT_EQ(next->event.query, TestEvent().query);
      read = next->number;
    }
    EXPECT_EQ(read, written);
  }
  EXPECT_EQ(TrailReader(path()).Next(12)->number, 13);
}

}  // namespace
}  // namespace isocenter::audit
