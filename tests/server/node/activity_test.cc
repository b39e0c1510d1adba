#include "server/node/activity.h"

#include <gtest/gtest.h>

namespace isocenter::node {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

jobs::Job Completed(double gups, double seconds_after_last_frame) {
  jobs::Job job{.state = jobs::JobState::kCompleted};
  job.result.kernel_gups = gups;
  job.result.whole_gups = gups / 2;
  job.result.seconds_after_last_frame = seconds_after_last_frame;
  return job;
}

TEST(Activity, StepsEndWhenTheyAreLongEnough) {
  Activity activity(kStart);
  activity.OnFrame(100);
  activity.EndStep(kStart + absl::Seconds(9));
  EXPECT_TRUE(activity.History(kStart + absl::Seconds(9), absl::Hours(1), 100).empty());
  activity.OnFrame(50);
  activity.EndStep(kStart + absl::Seconds(11));
  const auto history = activity.History(kStart + absl::Seconds(11), absl::Hours(1), 100);
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].frames, 2);
  EXPECT_EQ(history[0].bytes, 150);
  EXPECT_EQ(history[0].seconds, 11);
}

TEST(Activity, MeansAreOfAcquisitionsOnly) {
  Activity activity(kStart);
  activity.OnJobEnded(Completed(10, 0.5));
  activity.OnJobEnded(Completed(20, 0.2));
  jobs::Job refinement = Completed(1000, 9);
  refinement.refinement.algorithm = "sirt";
  activity.OnJobEnded(refinement);
  jobs::Job failed{.state = jobs::JobState::kFailed};
  activity.OnJobEnded(failed);
  activity.OnRefused(absl::UnavailableError("drained"), "Angio-1", kStart);
  activity.OnLoad(3, 7);
  activity.OnLoad(1, 9);
  activity.EndStep(kStart + Activity::kStep);
  const auto sample = activity.History(kStart + Activity::kStep, absl::Hours(1), 10).at(0);
  EXPECT_EQ(sample.completed_jobs, 3);
  EXPECT_EQ(sample.failed_jobs, 1);
  EXPECT_EQ(sample.refused, 1);
  EXPECT_EQ(sample.kernel_gups(), 15);
  EXPECT_EQ(sample.whole_gups(), 7.5);
  EXPECT_EQ(sample.seconds_after_last_frame(), 0.5);
  EXPECT_EQ(sample.active_jobs, 3);
  EXPECT_EQ(sample.queue_chunks, 9);
  EXPECT_EQ(ActivitySample().kernel_gups(), std::nullopt);
}

TEST(Activity, TheLastRefusalsAreKept) {
  Activity activity(kStart);
  EXPECT_TRUE(activity.Refusals().empty());
  for (size_t i = 0; i < Activity::kRefusals + 2; ++i) {
    activity.OnRefused(absl::ResourceExhaustedError(std::string(i == 0 ? 1 : 1000, 'a' + i)),
                       std::string(100, 's'), kStart + absl::Seconds(i));
  }
  const std::vector<Refusal> refusals = activity.Refusals();
  ASSERT_EQ(refusals.size(), Activity::kRefusals);
  EXPECT_EQ(refusals.front().time, kStart + absl::Seconds(Activity::kRefusals + 1));
  EXPECT_EQ(refusals.front().why, absl::ResourceExhaustedError(std::string(500, 'l')));
  EXPECT_EQ(refusals.front().station_name, std::string(64, 's'));
  EXPECT_EQ(refusals.back().time, kStart + absl::Seconds(2));
}

TEST(Activity, StepsAreJoinedAndTheOldOnesForgotten) {
  Activity activity(kStart);
  absl::Time now = kStart;
  for (size_t i = 0; i < Activity::kSamples + 5; ++i) {
    now += Activity::kStep;
    activity.OnFrame(1);
    activity.EndStep(now);
  }
  EXPECT_EQ(activity.History(now, absl::Hours(48), 100'000).size(), Activity::kSamples);
  const auto hour = activity.History(now, absl::Hours(1), 90);  // 360 steps, 4 together
  ASSERT_EQ(hour.size(), 90u);
  EXPECT_EQ(hour[0].frames, 4);
  EXPECT_EQ(hour[0].seconds, 40);
  EXPECT_EQ(hour.back().end, now);
}

}  // namespace
}  // namespace isocenter::node
