// Sets on disk: what is acknowledged stays as it is, and nothing half.
#include "server/calibrations/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/ops/calibration.h"
#include "proto/wire/calibration_file.h"
#include "server/calibrations/upload.h"
#include "tests/proto/wire/legal_calibration.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::calibrations {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string FileNamed(const std::string& name, const std::string& description = "") {
  v1::CalibrationSet set = wire::FullSet();
  set.set_name(name);
  set.set_description(description);
  return wire::CalibrationFile(set);
}

absl::StatusOr<v1::KeptCalibration> Add(Store& store, const std::string& name,
                                        const std::string& file) {
  auto upload = store.Begin(name, file.size());
  if (!upload.ok()) return upload.status();
  for (size_t at = 0; at < file.size(); at += 1000) {
    if (absl::Status status = (*upload)->Append(file.substr(at, 1000)); !status.ok()) return status;
  }
  return (*upload)->Commit();
}

class StoreTest : public ::testing::Test {
 protected:
  void Open(StoreOptions options = {}) {
    store_.reset();
    options.directory = directory_.path() / "calibrations";
    auto opened = Store::Open(options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  void SetUp() override { Open(); }
  absl::StatusOr<v1::KeptCalibration> AddNamed(const std::string& name,
                                               const std::string& description = "") {
    return Add(*store_, name, FileNamed(name, description));
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& label : store_->Labels()) names.push_back(label.name);
    return names;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(directory_.path() / "calibrations")) {
      files.push_back(entry.path().filename().string());
    }
    std::ranges::sort(files);
    return files;
  }
  fs::path PathOf(const std::string& file) const {
    return directory_.path() / "calibrations" / file;
  }

  isocenter::testing::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, WhatWasAddedIsThereAfterARestart) {
  const auto kept = AddNamed("a");
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->part(),
              ElementsAre("response", "defects", "lag", "glare", "air", "scatter", "water",
                          "hounsfield", "bone", "air_sweep", "scatter_model"));
  EXPECT_EQ(kept->label().quality_size(), 1);
  EXPECT_FALSE(kept->label().has_response());
  Open();
  EXPECT_THAT(store_->repairs(), IsEmpty());
  const auto found = store_->Find("a");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->SerializeAsString(), kept->SerializeAsString());
  const std::vector<jobs::CalibrationLabel> labels = store_->Labels();
  ASSERT_THAT(labels, SizeIs(1));
  EXPECT_EQ(labels[0].station_name, "room1");
  EXPECT_EQ(labels[0].detector_mode, "2x2-30fps");
  EXPECT_EQ(labels[0].detector, wire::kCalibratedDetector);
  EXPECT_EQ(labels[0].tube_voltage_kv, 90);
  EXPECT_EQ(labels[0].created, absl::FromUnixMillis(1767225600123));
  const auto loaded = store_->Load({.name = "a", .crc32c = labels[0].crc32c});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->response->air_counts, wire::FullCalibration().response->air_counts);
  EXPECT_EQ(store_->Load({.name = "a", .crc32c = labels[0].crc32c ^ 1}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, ANameIsOneSetForGood) {
  const auto kept = AddNamed("a", "first");
  ASSERT_TRUE(kept.ok()) << kept.status();
  const auto again = AddNamed("a", "first");  // its answer may have been lost
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), kept->SerializeAsString());
  const auto other = AddNamed("a", "second");
  EXPECT_EQ(other.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("another calibration 'a'"));
  EXPECT_EQ(store_->Find("a")->label().description(), "first");
  EXPECT_THAT(Files(), ElementsAre("a.isocal", "lock"));
}

TEST_F(StoreTest, IllegalUploadsLeaveNothing) {
  const std::string file = FileNamed("a");
  const auto code = [&](const std::string& name, const std::string& bytes) {
    return Add(*store_, name, bytes).status().code();
  };
  EXPECT_EQ(code("b", file), absl::StatusCode::kInvalidArgument);  // another name than the set's
  std::string damaged = file;
  damaged[file.size() / 2] ^= 1;
  EXPECT_EQ(code("a", damaged), absl::StatusCode::kDataLoss);
  EXPECT_EQ(code("a", std::string(100, '\0')), absl::StatusCode::kDataLoss);
  v1::CalibrationSet illegal = wire::FullSet();
  illegal.set_name("a");
  illegal.mutable_response()->mutable_air_counts()->assign(illegal.response().air_counts().size(),
                                                           '\0');
  EXPECT_EQ(code("a", wire::CalibrationFile(illegal)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->Begin("a", 24).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->Begin("a", uint64_t{1} << 40).status().code(),
            absl::StatusCode::kInvalidArgument);
  {
    auto upload = store_->Begin("a", file.size());
    ASSERT_TRUE(upload.ok());
    ASSERT_TRUE((*upload)->Append(file).ok());
    EXPECT_EQ((*upload)->Append("x").code(), absl::StatusCode::kInvalidArgument);
  }
  {
    auto upload = store_->Begin("a", file.size());
    ASSERT_TRUE(upload.ok());
    ASSERT_TRUE((*upload)->Append(file.substr(1)).ok());
    EXPECT_EQ((*upload)->Commit().status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(Files(), ElementsAre("lock"));
  EXPECT_EQ(code("a", file), absl::StatusCode::kOk);
}

TEST_F(StoreTest, OneUploadAtATimeAndLimits) {
  const std::string file = FileNamed("a");
  {
    const auto upload = store_->Begin("a", file.size());
    ASSERT_TRUE(upload.ok());
    EXPECT_EQ(store_->Begin("b", file.size()).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  Open({.most_sets = 1});
  EXPECT_TRUE(AddNamed("a").ok());
  EXPECT_THAT(std::string(AddNamed("b").status().message()),
              HasSubstr("1 calibrations are kept; legal is at most 1"));
  EXPECT_TRUE(AddNamed("a").ok());  // the same again
  Open({.most_bytes = static_cast<int64_t>(file.size()) + 10});
  EXPECT_EQ(AddNamed("b").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(StoreTest, WithdrawnStaysWithdrawnAndCanBeLoaded) {
  ASSERT_TRUE(AddNamed("a").ok());
  const auto withdrawn = store_->Withdraw("a");
  ASSERT_TRUE(withdrawn.ok()) << withdrawn.status();
  EXPECT_TRUE(withdrawn->has_withdraw_time());
  EXPECT_EQ(store_->Withdraw("a")->SerializeAsString(), withdrawn->SerializeAsString());
  EXPECT_EQ(store_->Withdraw("b").status().code(), absl::StatusCode::kNotFound);
  Open();
  const std::vector<jobs::CalibrationLabel> labels = store_->Labels();
  ASSERT_THAT(labels, SizeIs(1));
  EXPECT_TRUE(labels[0].withdrawn);
  EXPECT_TRUE(store_->Load({.name = "a", .crc32c = labels[0].crc32c}).ok());
}

TEST_F(StoreTest, DamagedSetsAreSetAsideAndSaid) {
  for (const char* name : {"cut", "changed", "renamed", "good"}) ASSERT_TRUE(AddNamed(name).ok());
  fs::resize_file(PathOf("cut.isocal"), 500);
  {
    std::fstream file(PathOf("changed.isocal"), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(2000);
    file.put('\x55');
  }
  fs::rename(PathOf("renamed.isocal"), PathOf("other.isocal"));
  Open();
  EXPECT_THAT(store_->repairs(), SizeIs(2));
  EXPECT_THAT(Names(), ElementsAre("changed", "good"));
  const uint32_t crc = store_->Find("changed")->crc32c();
  EXPECT_EQ(store_->Load({.name = "changed", .crc32c = crc}).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_THAT(Names(), ElementsAre("good"));
  EXPECT_THAT(Files(), ElementsAre("changed.isocal.damaged", "cut.isocal.damaged", "good.isocal",
                                   "lock", "other.isocal.damaged"));
  EXPECT_TRUE(store_->VerifiedFile("good").ok());
  EXPECT_TRUE(AddNamed("changed").ok());  // again, from who has it
}

TEST_F(StoreTest, ADamagedFileIsNotSent) {
  ASSERT_TRUE(AddNamed("a").ok());
  {
    std::fstream file(PathOf("a.isocal"), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(3000);
    file.put('\x55');
  }
  EXPECT_EQ(store_->VerifiedFile("a").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(store_->VerifiedFile("a").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StoreTest, KilledWhileAddingLosesNothingAcknowledgedAndLeavesNoHalfSet) {
  store_.reset();
  for (int round = 0; round < 12; ++round) {
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = *Store::Open({.directory = directory_.path() / "calibrations"});
      for (int i = 0;; ++i) {
        const std::string name = absl::StrCat("r", round, "-", i);
        if (!Add(*store, name, FileNamed(name)).ok()) _exit(1);
        if (write(said[1], &i, sizeof i) != sizeof i) _exit(2);
      }
    }
    close(said[1]);
    int last = -1;
    for (int i = 0; i <= round % 4; ++i) ASSERT_EQ(read(said[0], &last, sizeof last), sizeof last);
    usleep(137 * round);
    kill(child, SIGKILL);
    for (int more = 0; read(said[0], &more, sizeof more) == sizeof more;) last = more;
    close(said[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    Open();
    for (int i = 0; i <= last; ++i) {
      const std::string name = absl::StrCat("r", round, "-", i);
      EXPECT_TRUE(store_->VerifiedFile(name).ok()) << name;
    }
    for (const auto& label : store_->Labels()) {
      EXPECT_TRUE(store_->Load({.name = label.name, .crc32c = label.crc32c}).ok()) << label.name;
    }
    for (const std::string& repair : store_->repairs()) {
      EXPECT_THAT(repair, HasSubstr("that was being added"));
    }
    store_.reset();
  }
}

TEST_F(StoreTest, OneProcessAtATime) {
  EXPECT_EQ(Store::Open({.directory = directory_.path() / "calibrations"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace isocenter::calibrations
