// Three rooms and a long refinement on one device, in simulated time: units run on the executor's
// thread and move its clock themselves, so every run is the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "server/scheduler/lane_executor.h"
#include "tests/server/scheduler/manual_clock.h"

namespace isocenter::scheduler {
namespace {

using jobs::JobClass;

constexpr absl::Duration kLiveUnit = absl::Milliseconds(100);
constexpr absl::Duration kBatchUnit = absl::Milliseconds(300);
constexpr int kLiveLanes = 3;

class Simulation {
 public:
  /// Each live lane gets a unit every `period`; the batch lane has all of its units from the start.
  Simulation(absl::Duration period, absl::Duration length, int batch_units)
      : period_(period), end_(clock_.Now() + length) {
    absl::Notification all_submitted;
    LaneExecutor executor("test", absl::Seconds(5), clock_.function());
    for (int i = 0; i < kLiveLanes; ++i) {
      live_.push_back(executor.NewLane());
      arrivals_.push_back(clock_.Now() + (i + 1) * period / kLiveLanes);
    }
    const auto batch = executor.NewLane({.job_class = JobClass::kBatch});
    batch->Submit([&] { all_submitted.WaitForNotification(); });
    for (int i = 0; i < batch_units; ++i) batch->Submit([this] { RunBatch(); });
    all_submitted.Notify();
  }  // the executor runs everything

  int batch_until_end() const { return batch_until_end_; }
  int live_units() const { return live_units_; }
  int most_batch_waited_for() const { return most_batch_waited_for_; }
  absl::Duration longest_wait() const { return longest_wait_; }

 private:
  void RunBatch() {
    // A unit that comes while this one runs finds it counted, and waits for it by that.
    ++batch_begun_;
    if (clock_.Now() < end_) ++batch_until_end_;
    Pass(kBatchUnit, batch_begun_ - 1);
  }

  void RunLive(absl::Time submitted, int batch_before) {
    ++live_units_;
    most_batch_waited_for_ = std::max(most_batch_waited_for_, batch_begun_ - batch_before);
    longest_wait_ = std::max(longest_wait_, clock_.Now() - submitted);
    Pass(kLiveUnit, batch_begun_);
  }

  /// Lets time pass, in which frames arrive.
  void Pass(absl::Duration duration, int batch_before) {
    const absl::Time begin = clock_.Now();
    while (true) {
      const auto next = std::min_element(arrivals_.begin(), arrivals_.end());
      if (*next > begin + duration || *next > end_) break;
      clock_.Advance(*next - clock_.Now());
      live_[next - arrivals_.begin()]->Submit(
          [this, submitted = clock_.Now(), batch_before] { RunLive(submitted, batch_before); });
      *next += period_;
    }
    clock_.Advance(begin + duration - clock_.Now());
  }

  const absl::Duration period_;
  ManualClock clock_;
  const absl::Time end_;
  std::vector<std::shared_ptr<LaneExecutor::Lane>> live_;
  std::vector<absl::Time> arrivals_;  // the next one of each live lane
  int batch_begun_ = 0, batch_until_end_ = 0, live_units_ = 0, most_batch_waited_for_ = 0;
  absl::Duration longest_wait_;
};

TEST(LaneSimulation, BatchTakesWhatLiveLeaves) {
  const Simulation run(absl::Milliseconds(500), absl::Minutes(1), 200);
  EXPECT_EQ(run.live_units(), 3 * 120);
  // Live takes 60 %; of the 24 s that are left, units of 0.3 s get all.
  EXPECT_GE(run.batch_until_end(), 78);
  EXPECT_LE(run.batch_until_end(), 81);
  EXPECT_EQ(run.most_batch_waited_for(), 1);
  // One batch unit and one of each other live lane.
  EXPECT_LE(run.longest_wait(), kBatchUnit + (kLiveLanes - 1) * kLiveUnit);
}

TEST(LaneSimulation, BatchProgressesWhenLiveLeavesNothing) {
  const Simulation run(absl::Milliseconds(300), absl::Minutes(1), 200);
  EXPECT_EQ(run.live_units(), 3 * 200);
  // One in every 15 s, after those that ran before the first frame came.
  EXPECT_GE(run.batch_until_end(), 4);
  EXPECT_LE(run.batch_until_end(), 6);
  EXPECT_EQ(run.most_batch_waited_for(), 1);
}

}  // namespace
}  // namespace isocenter::scheduler
