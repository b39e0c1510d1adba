// The index of an archive on a disk that others have filled.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/archive/archive.h"
#include "tests/fault/small_disk.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kJobs = 40;

class FullArchiveTest : public ::testing::Test {
 protected:
  void MakeDisk(int64_t bytes) {
    const std::string why_not = disks_.Make(root(), bytes);
    if (!why_not.empty()) GTEST_SKIP() << "a small disk cannot be mounted here: " << why_not;
  }
  fs::path root() const { return directory_.path() / "archive"; }

  void Open() {
    archive_.reset();
    auto opened = archive::Archive::Open(root());
    ASSERT_TRUE(opened.ok()) << opened.status();
    archive_ = *std::move(opened);
  }
  /// Records of jobs, each with a trace of some pages.
  void SaveJobs() {
    for (int i = 0; i < kJobs; ++i) {
      jobs::Job job;
      job.id = absl::StrCat("job", i);
      ASSERT_TRUE(archive_->Save(job).ok());
      ASSERT_TRUE(archive_->SaveTrace(job.id, std::string(20'000, 't')).ok());
    }
  }
  size_t JobsLeft() { return archive_->LoadAll()->jobs.size(); }

  TemporaryDirectory directory_;
  SmallDisks disks_;
  std::unique_ptr<archive::Archive> archive_;
};

TEST_F(FullArchiveTest, JobsAreDeletedAndTheStartSucceeds) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(64 << 20));
  if (IsSkipped()) return;
  ASSERT_NO_FATAL_FAILURE(Open());
  SaveJobs();
  FillDisk(root(), 0);
  const absl::Status deleted = archive_->Delete("job0");
  EXPECT_TRUE(deleted.ok()) << deleted;

  archive_.reset();
  FillDisk(root(), 0);
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(JobsLeft(), size_t{kJobs - 1});
  for (int i = 1; i < kJobs; ++i) {
    const absl::Status status = archive_->Delete(absl::StrCat("job", i));
    ASSERT_TRUE(status.ok()) << i << ": " << status;
  }
  EXPECT_EQ(JobsLeft(), 0u);

  // With room again the reserve is whole again: the next time is as the first.
  FreeDisk(root());
  SaveJobs();
  ASSERT_TRUE(archive_->Delete("job0").ok());
  EXPECT_EQ(fs::file_size(root() / "reserve"), (64u << 20) / 16);
}

TEST_F(FullArchiveTest, WithoutAReserveTheDiskIsSaidToBeFull) {
  ASSERT_NO_FATAL_FAILURE(MakeDisk(64 << 20));
  if (IsSkipped()) return;
  const auto says_so =
      AllOf(HasSubstr("the archive's disk is full: 0 bytes are free"),
            HasSubstr("index.sqlite cannot be written; remove what does not belong there"));
  const auto use_up_reserve = [&] {
    fs::resize_file(root() / "reserve", 0);
    FillDisk(root(), 0);
  };
  ASSERT_NO_FATAL_FAILURE(Open());
  SaveJobs();
  archive_.reset();
  use_up_reserve();
  const absl::Status opened = archive::Archive::Open(root()).status();
  EXPECT_TRUE(absl::IsResourceExhausted(opened)) << opened;
  EXPECT_THAT(std::string(opened.message()), says_so);

  FreeDisk(root());
  ASSERT_NO_FATAL_FAILURE(Open());
  use_up_reserve();
  absl::Status status;
  for (int i = 0; i < kJobs && status.ok(); ++i) {
    status = archive_->Delete(absl::StrCat("job", i));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), says_so);
}

}  // namespace
}  // namespace isocenter::testing
