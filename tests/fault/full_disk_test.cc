// Disks without room: said before the exposure where it can be known, and nothing acknowledged is
// lost where it cannot.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/job_client.h"
#include "tests/fault/daemon.h"
#include "tests/fault/metrics_page.h"
#include "tests/fault/scan_console.h"
#include "tests/fault/small_scan.h"
#include "tests/fault/spool_file.h"
#include "tests/server/fakes/eventually.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

bool WriteText(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

/// Gives this process mounts of its own, which disappear with it; empty, or why it may not have
/// them. While there is one thread only.
std::string EnterOwnMounts() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return std::strerror(errno);
    WriteText("/proc/self/setgroups", "deny");
    if (!WriteText("/proc/self/uid_map", absl::StrCat("0 ", user, " 1")) ||
        !WriteText("/proc/self/gid_map", absl::StrCat("0 ", group, " 1"))) {
      return "user ids cannot be mapped";
    }
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return std::strerror(errno);
  return "";
}

std::string& WhyNoMounts() {
  static std::string& why = *new std::string;
  return why;
}

class FullDiskTest : public ::testing::Test {
 protected:
  ~FullDiskTest() override {
    daemon_.reset();
    for (const fs::path& disk : disks_) umount2(disk.c_str(), MNT_DETACH);
  }

  fs::path Path(const char* name) const { return directory_.path() / name; }

  /// A disk of `bytes`, or a skipped test.
  void MakeDisk(const fs::path& path, int64_t bytes) {
    fs::create_directories(path);
    if (WhyNoMounts().empty() && mount("none", path.c_str(), "tmpfs", 0,
                                       absl::StrCat("size=", bytes, ",mode=700").c_str()) != 0) {
      WhyNoMounts() = std::strerror(errno);
    }
    if (!WhyNoMounts().empty()) {
      GTEST_SKIP() << "a small disk cannot be mounted here: " << WhyNoMounts();
    }
    disks_.push_back(path);
  }

  void StartServer(const std::string& config = "") {
    const fs::path file = Path("site.txt");
    std::ofstream(file) << config;
    daemon_ = std::make_unique<Daemon>(
        Path("archive").string(),
        std::vector<std::string>{absl::StrCat("--config=", file.string()),
                                 absl::StrCat("--spool=", Path("spool").string()),
                                 absl::StrCat("--grpc_address=127.0.0.1:", port_)});
    ASSERT_EQ(daemon_->grpc_port(), port_) << "isocenterd did not start";
  }

  /// The refusal of a scan while another one has the room, which then completes.
  absl::Status RefusalBesideAnActiveJob() {
    ScanConsole first(port_, ScanHeader("first"), {.stop_before = kScanFrames / 2});
    EXPECT_TRUE(first.Await(
        [](const ScanConsole::Told& told) { return told.acknowledged.size() == kScanFrames / 2; }));
    absl::Status refusal;
    {
      ScanConsole second(port_, ScanHeader("second"));
      EXPECT_TRUE(second.Await([](const ScanConsole::Told&) { return false; }));
      EXPECT_TRUE(second.told().job_id.empty());
      refusal = second.told().ended.value_or(absl::OkStatus());
    }
    first.Continue();
    ExpectTheVolume(first);
    // What the first has left behind makes room, a moment after its result has been sent.
    EXPECT_TRUE(Eventually([&] {
      return Metric(daemon_->metrics_port(), "isocenter_spool_bytes{kind=\"reclaimable\"}") > 0.;
    }));
    ScanConsole third(port_, ScanHeader("third"));
    ExpectTheVolume(third);
    EXPECT_EQ(client::JobClient(ChannelTo(port_)).List({}, 10)->size(), 2u);
    return refusal;
  }

  void ExpectTheVolume(const ScanConsole& console) {
    ASSERT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    ASSERT_TRUE(console.told().ended->ok()) << *console.told().ended;
    const auto volume = VolumeOf(ChannelTo(port_), console.told().job_id);
    ASSERT_TRUE(volume.ok()) << volume.status();
    EXPECT_TRUE(SameBits(*volume, UndisturbedVolume()));
  }

  /// Writes until `free` bytes are left.
  static void Fill(const fs::path& disk, int64_t free) {
    std::ofstream filler(disk / "filler", std::ios::binary | std::ios::app);
    while (static_cast<int64_t>(fs::space(disk).available) > free) {
      if (!(filler << std::string(4096, 'x') << std::flush)) break;
    }
  }

  /// Streams a scan whose archive runs full in the middle, and waits for its failure. The id.
  std::string FailAtExport(int64_t free) {
    ScanConsole console(port_, ScanHeader("full"), {.stop_before = kScanFrames / 2});
    EXPECT_TRUE(console.Await(
        [](const ScanConsole::Told& told) { return told.acknowledged.size() == kScanFrames / 2; }));
    Fill(Path("archive"), free);
    console.Continue();
    EXPECT_TRUE(console.Await([](const ScanConsole::Told&) { return false; }));
    const ScanConsole::Told told = console.told();
    EXPECT_TRUE(absl::IsResourceExhausted(told.ended.value_or(absl::OkStatus())));
    EXPECT_EQ(told.acknowledged.size(), kScanFrames);
    return told.job_id;
  }

  TemporaryDirectory directory_;
  const int port_ = PortForRestarts();
  std::vector<fs::path> disks_;
  std::unique_ptr<Daemon> daemon_;
};

TEST_F(FullDiskTest, AScanBeyondTheSpoolsCapacityIsRefusedBeforeItsExposure) {
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer("spool { capacity_bytes: 4194304 }");
  const absl::Status refusal = RefusalBesideAnActiveJob();
  EXPECT_TRUE(absl::IsResourceExhausted(refusal)) << refusal;
  EXPECT_THAT(std::string(refusal.message()),
              AllOf(HasSubstr("bytes are needed"), HasSubstr("of 4194304 allowed bytes are used")));
}

TEST_F(FullDiskTest, AScanBeyondTheSpoolsDiskIsRefusedBeforeItsExposure) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("spool"), 5 << 20));
  if (IsSkipped()) return;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer("spool { capacity_bytes: 1073741824 }");
  const absl::Status refusal = RefusalBesideAnActiveJob();
  EXPECT_TRUE(absl::IsResourceExhausted(refusal)) << refusal;
  EXPECT_THAT(std::string(refusal.message()),
              AllOf(HasSubstr("bytes are needed"), HasSubstr("are free on the disk")));
}

TEST_F(FullDiskTest, AnArchiveThatIsFullAtExportFailsTheJobAndKeepsItsFrames) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("archive"), 24 << 20));
  if (IsSkipped()) return;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer();
  // Enough for the job's record, and for nothing else.
  const std::string id = FailAtExport(1 << 20);
  const auto job = client::JobClient(ChannelTo(port_)).Get(id);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(job->error_message(), HasSubstr("bytes"));
  // The file is renamed when the job gives its place back, a moment after its failure has been
  // told.
  const fs::path kept = Path("spool") / absl::StrCat(id, ".released");
  EXPECT_TRUE(Eventually([&] { return fs::exists(kept); }));
  EXPECT_EQ(SpoolFile(kept).IntactFrames().size(), kScanFrames);
  // The next one is refused while it can still be repeated elsewhere.
  ScanConsole refused(port_, ScanHeader("refused"));
  ASSERT_TRUE(refused.Await([](const ScanConsole::Told&) { return false; }));
  EXPECT_TRUE(absl::IsResourceExhausted(*refused.told().ended)) << *refused.told().ended;
  EXPECT_THAT(std::string(refused.told().ended->message()), HasSubstr("bytes"));

  fs::remove(Path("archive") / "filler");
  ScanConsole next(port_, ScanHeader("next"));
  ExpectTheVolume(next);
}

// Not even the failure can be recorded: for the next start the job is under way, and it has all its
// frames.
TEST_F(FullDiskTest, WithoutAByteInTheArchiveTheJobCompletesAfterARestart) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(Path("archive"), 24 << 20));
  if (IsSkipped()) return;
  ASSERT_FALSE(UndisturbedVolume().empty());
  StartServer();
  const std::string id = FailAtExport(0);
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait(), 0);
  EXPECT_EQ(SpoolFile(SpoolFileOf(Path("spool"), id)).IntactFrames().size(), kScanFrames);
  fs::remove(Path("archive") / "filler");

  StartServer();
  const auto job = client::JobClient(ChannelTo(port_)).Watch(id, [](const auto&) { return true; });
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state(), v1::JOB_STATE_COMPLETED) << job->error_message();
  const auto volume = VolumeOf(ChannelTo(port_), id);
  ASSERT_TRUE(volume.ok()) << volume.status();
  EXPECT_TRUE(SameBits(*volume, UndisturbedVolume()));
}

}  // namespace
}  // namespace isocenter::testing

int main(int argc, char** argv) {
  isocenter::testing::WhyNoMounts() = isocenter::testing::EnterOwnMounts();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
