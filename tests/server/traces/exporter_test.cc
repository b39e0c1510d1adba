#include "server/traces/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace isocenter::traces {
namespace {

using nlohmann::json;

jobs::Job NewJob(const std::string& id) {
  jobs::Job job;
  job.id = id;
  job.station_name = "room \xff 1";  // no UTF-8
  job.trace_parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  job.create_time = absl::FromUnixSeconds(1'800'000'000);
  return job;
}

void Finish(Exporter& exporter, jobs::Job job) {
  exporter.OnJobAccepted(job, job.create_time);
  job.state = jobs::JobState::kExporting;
  exporter.OnStateChanged(job, job.create_time + absl::Seconds(1));
  job.state = jobs::JobState::kCompleted;
  job.end_time = job.create_time + absl::Seconds(2);
  exporter.OnStateChanged(job, job.end_time);
  exporter.OnJobEnded(job);
}

/// A collector that answers as it is told.
class Collector {
 public:
  ExporterOptions Options() {
    return {.resource = {{"service.name", std::string("isocenter")}},
            .post = [this](const std::string& text) { return Take(text); },
            .kept_trace = [](const std::string&) { return absl::NotFoundError("none"); },
            .first_retry = absl::Milliseconds(1),
            .longest_retry = absl::Milliseconds(4)};
  }
  void Answer(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    answer_ = std::move(status);
  }
  void AwaitAttempts(int count) {
    absl::MutexLock lock(&mutex_);
    const auto reached = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return attempts_ >= count; };
    mutex_.Await(absl::Condition(&reached));
  }
  json AwaitTaken() {
    absl::MutexLock lock(&mutex_);
    const auto taken = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !taken_.empty(); };
    mutex_.Await(absl::Condition(&taken));
    return json::parse(taken_.front());
  }

 private:
  absl::Status Take(const std::string& text) {
    absl::MutexLock lock(&mutex_);
    ++attempts_;
    if (answer_.ok()) taken_.push_back(text);
    return answer_;
  }

  absl::Mutex mutex_;
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
  int attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> taken_ ABSL_GUARDED_BY(mutex_);
};

TEST(Exporter, SendsWhatHasEndedAsOtlp) {
  Collector collector;
  Exporter exporter(collector.Options());
  Finish(exporter, NewJob("job-1"));
  const json request = collector.AwaitTaken();
  const json& resource = request["resourceSpans"][0];
  EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"], "isocenter");
  const json& spans = resource["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 3);
  EXPECT_EQ(spans[0]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(spans[0]["kind"], 2);
  EXPECT_EQ(spans[0]["startTimeUnixNano"], "1800000000000000000");
  EXPECT_EQ(spans[1]["name"], "receive");
  EXPECT_EQ(spans[1]["parentSpanId"], spans[0]["spanId"]);
  EXPECT_EQ(spans[2]["name"], "export");
}

TEST(Exporter, TriesAgainWhileTheCollectorIsAway) {
  Collector collector;
  collector.Answer(absl::UnavailableError("away"));
  Exporter exporter(collector.Options());
  Finish(exporter, NewJob("job-1"));
  collector.AwaitAttempts(3);
  EXPECT_EQ(exporter.counts().exported, 0);
  collector.Answer(absl::OkStatus());
  EXPECT_EQ(collector.AwaitTaken()["resourceSpans"].size(), 1);
  EXPECT_EQ(exporter.counts().dropped, 0);
}

TEST(Exporter, DropsWhatIsRefusedAndGoesOn) {
  Collector collector;
  collector.Answer(absl::FailedPreconditionError("400"));
  Exporter exporter(collector.Options());
  Finish(exporter, NewJob("job-1"));
  collector.AwaitAttempts(1);
  collector.Answer(absl::OkStatus());
  Finish(exporter, NewJob("job-2"));
  const json spans = collector.AwaitTaken()["resourceSpans"][0]["scopeSpans"][0]["spans"];
  EXPECT_EQ(spans[0]["attributes"][0]["value"]["stringValue"], "job-2");
  EXPECT_EQ(exporter.counts().dropped, 3);
}

// Thousands of jobs at a collector that hangs cost bounded memory, and their callers no time.
TEST(Exporter, HoldsNoMoreThanItSays) {
  absl::Notification go;
  ExporterOptions options = Collector().Options();
  options.post = [&go](const std::string&) {
    go.WaitForNotification();
    return absl::OkStatus();
  };
  Exporter exporter(std::move(options));
  constexpr int kJobs = 2 * static_cast<int>(Exporter::kMostJobs) + 600;
  for (int i = 0; i < kJobs; ++i) Finish(exporter, NewJob(absl::StrCat("job-", i)));
  EXPECT_GT(exporter.counts().dropped, 0);
  go.Notify();
}

TEST(Exporter, EndsSoonWhileTheCollectorIsAway) {
  Collector collector;
  collector.Answer(absl::UnavailableError("away"));
  const absl::Time begin = absl::Now();
  {
    Exporter exporter(collector.Options());
    Finish(exporter, NewJob("job-1"));
    collector.AwaitAttempts(1);
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
}

}  // namespace
}  // namespace isocenter::traces
