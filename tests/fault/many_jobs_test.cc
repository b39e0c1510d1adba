// After hundreds of jobs that completed, failed and were cancelled the server holds nothing of
// them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/acquisition_stream.h"
#include "client/job_client.h"
#include "tests/fault/campaign.h"
#include "tests/fault/daemon.h"
#include "tests/fault/metrics_page.h"
#include "tests/fault/small_scan.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::testing {
namespace {

// What stays is a job's record (a few KiB; the table keeps a thousand that were not successful) and
// what the allocator cannot give back. A job that left its volume (1 MiB) or its window of frames
// (2.4 MiB) behind would exceed this after some 20 jobs.
constexpr int64_t kAllowedBytes = 24 << 20;
constexpr absl::Duration kToGiveBack = absl::Seconds(60);  // memory is trimmed every 5 s

class ManyJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto config = directory_.path() / "site.txt";
    std::ofstream(config) << "spool { retain_seconds: 0.05 }";
    daemon_ = std::make_unique<Daemon>(
        (directory_.path() / "archive").string(),
        std::vector<std::string>{absl::StrCat("--config=", config.string())});
    ASSERT_NE(daemon_->grpc_port(), 0) << "isocenterd did not start";
    channel_ = std::make_unique<client::ServiceChannel>(ChannelTo(daemon_->grpc_port()));
  }

  enum Kind { kFinished, kFailed, kCancelled };

  absl::Status RunJob(Kind kind) {
    auto stream = client::AcquisitionStream::Open(*channel_, ScanHeader(""));
    if (!stream.ok()) return stream.status();
    const auto frames = kind == kFinished ? kScanFrames : chance_.Integer(0, kScanFrames / 2);
    for (int i = 0; i < frames; ++i) {
      if (const auto s = (*stream)->SendFrame(i, ScanFrame(i)); !s.ok()) return s;
    }
    if (kind == kCancelled) {
      const auto answer = client::JobClient(*channel_).Cancel((*stream)->accepted().job_id());
      if (!answer.ok()) return answer.status();
    }
    return (*stream)->Finish().status();
  }

  void RunJobs(int count) {
    for (int i = 0; i < count && !HasFailure(); ++i, ++jobs_) {
      const auto kind = static_cast<Kind>(jobs_ % 3);
      const absl::Status status = RunJob(kind);
      EXPECT_EQ(status.code(), kind == kFinished ? absl::StatusCode::kOk
                               : kind == kFailed ? absl::StatusCode::kFailedPrecondition
                                                 : absl::StatusCode::kCancelled)
          << "job " << jobs_ << ": " << status;
    }
  }

  /// The least within the time in which memory is given back, or the first that is below `enough`.
  int64_t SettledResidentBytes(int64_t enough) {
    int64_t least = daemon_->ResidentBytes();
    for (const absl::Time give_up = absl::Now() + kToGiveBack;
         least > enough && absl::Now() < give_up;) {
      absl::SleepFor(absl::Milliseconds(200));
      least = std::min(least, daemon_->ResidentBytes());
    }
    return least;
  }

  void ExpectMetric(const std::string& sample, double expected) {
    const absl::Time give_up = absl::Now() + absl::Seconds(60);
    std::optional<double> value;
    do {
      value = Metric(daemon_->metrics_port(), sample);
      if (value == expected) return;
      absl::SleepFor(absl::Milliseconds(50));
    } while (absl::Now() < give_up);
    ADD_FAILURE() << sample << " is " << value.value_or(-1) << ", not " << expected;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<client::ServiceChannel> channel_;
  Chance chance_;
  int jobs_ = 0;
};

TEST_F(ManyJobsTest, NothingOfThemStays) {
  const int all = Rounds(60, 1000), warm_up = Rounds(18, 99);
  RunJobs(warm_up);
  const int64_t start = daemon_->ResidentBytes();
  RunJobs((all - warm_up) / 2);
  const int64_t middle = daemon_->ResidentBytes();
  RunJobs(all - jobs_);
  const int64_t peak = daemon_->ResidentBytes();
  const int64_t end = SettledResidentBytes(start + kAllowedBytes);
  std::printf("resident: %.1f MiB after %d jobs, %.1f half-way, %.1f after %d, %.1f then\n",
              start / 1048576., warm_up, middle / 1048576., peak / 1048576., jobs_, end / 1048576.);
  if (!ISOCENTER_SANITIZED) {
    EXPECT_LE(end - start, kAllowedBytes);
  }
  ExpectMetric("isocenter_device_memory_bytes{device=\"cpu0\",kind=\"used\"}", 0);
  ExpectMetric("isocenter_spool_bytes{kind=\"used\"}", 0);
  ExpectMetric("isocenter_queue_depth", 0);
  for (const auto& file :
       std::filesystem::directory_iterator(directory_.path() / "archive" / "spool")) {
    EXPECT_EQ(file.path().filename(), "lock");
  }
}

}  // namespace
}  // namespace isocenter::testing
