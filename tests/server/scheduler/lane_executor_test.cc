#include "server/scheduler/lane_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/server/scheduler/manual_clock.h"

namespace isocenter::scheduler {
namespace {

using jobs::JobClass;
using ::testing::ElementsAre;

/// An executor on a clock of its own, held up by a unit until the test has submitted all.
class LaneExecutorTest : public ::testing::Test {
 protected:
  LaneExecutorTest() { Hold(JobClass::kLive); }

  void Hold(JobClass job_class) {
    absl::Notification holding;
    executor_->NewLane({.job_class = job_class})->Submit([&] {
      holding.Notify();
      all_submitted_.WaitForNotification();
    });
    holding.WaitForNotification();
  }

  std::shared_ptr<LaneExecutor::Lane> Lane(JobClass job_class,
                                           absl::Time deadline = absl::InfiniteFuture()) {
    return executor_->NewLane({job_class, deadline});
  }

  /// A unit that writes down its name and takes so long.
  LaneExecutor::Unit Unit(const std::string& name, absl::Duration takes = absl::ZeroDuration()) {
    return [this, name, takes] {
      order_.push_back(name);
      clock_.Advance(takes);
    };
  }

  /// The order in which everything ran.
  const std::vector<std::string>& Order() {
    all_submitted_.Notify();
    executor_.reset();  // runs what was submitted
    return order_;
  }

  ManualClock clock_;
  absl::Notification all_submitted_;
  std::vector<std::string> order_;
  std::optional<LaneExecutor> executor_{std::in_place, "test", absl::Seconds(5), clock_.function()};
};

TEST_F(LaneExecutorTest, ServesEqualLanesInTurnAndEachInOrder) {
  const auto first = Lane(JobClass::kLive);
  const auto second = Lane(JobClass::kLive);
  for (const char* unit : {"a1", "a2", "a3"}) first->Submit(Unit(unit));
  for (const char* unit : {"b1", "b2"}) second->Submit(Unit(unit));
  EXPECT_THAT(Order(), ElementsAre("a1", "b1", "a2", "b2", "a3"));
}

TEST_F(LaneExecutorTest, TheBetterClassGoesFirst) {
  const auto batch = Lane(JobClass::kBatch);
  const auto interactive = Lane(JobClass::kInteractive);
  const auto live = Lane(JobClass::kLive);
  for (const char* unit : {"b1", "b2"}) batch->Submit(Unit(unit));
  for (const char* unit : {"i1", "i2"}) interactive->Submit(Unit(unit));
  for (const char* unit : {"l1", "l2"}) live->Submit(Unit(unit));
  EXPECT_THAT(Order(), ElementsAre("l1", "l2", "i1", "i2", "b1", "b2"));
}

TEST_F(LaneExecutorTest, WithinAClassTheEarlierDeadlineGoesFirst) {
  const absl::Time now = clock_.Now();
  const auto never = Lane(JobClass::kInteractive);
  const auto late = Lane(JobClass::kInteractive, now + absl::Seconds(90));
  const auto soon = Lane(JobClass::kInteractive, now + absl::Seconds(30));
  const auto live = Lane(JobClass::kLive, now + absl::Hours(1));
  never->Submit(Unit("never"));
  for (const char* unit : {"late1", "late2"}) late->Submit(Unit(unit));
  for (const char* unit : {"soon1", "soon2"}) soon->Submit(Unit(unit));
  live->Submit(Unit("live"));
  EXPECT_THAT(Order(), ElementsAre("live", "soon1", "soon2", "late1", "late2", "never"));
}

TEST_F(LaneExecutorTest, ALiveUnitWaitsForAtMostTheUnitThatRuns) {
  const auto batch = Lane(JobClass::kBatch);
  const auto live = Lane(JobClass::kLive);
  batch->Submit([&, running = Unit("b1", absl::Minutes(1))] {
    running();  // longer than anything ages
    live->Submit(Unit("live"));
  });
  for (const char* unit : {"b2", "b3"}) batch->Submit(Unit(unit));
  EXPECT_THAT(Order(), ElementsAre("b1", "live", "b2", "b3"));
}

TEST_F(LaneExecutorTest, AnOverdueLaneGetsOneUnit) {
  const auto batch = Lane(JobClass::kBatch);
  const auto interactive = Lane(JobClass::kInteractive);
  const auto live = Lane(JobClass::kLive);
  for (const char* unit : {"b1", "b2"}) batch->Submit(Unit(unit));
  for (const char* unit : {"i1", "i2"}) interactive->Submit(Unit(unit));
  // Overdue: interactive at 10 s and 10 s after it was served, batch at 15 s.
  for (const char* unit : {"l4", "l8", "l12", "l16", "l20", "l24"}) {
    live->Submit(Unit(unit, absl::Seconds(4)));
  }
  EXPECT_THAT(Order(), ElementsAre("l4", "l8", "l12", "i1", "l16", "b1", "l20", "l24", "i2", "b2"));
}

TEST_F(LaneExecutorTest, NeverTwoWorseUnitsInARow) {
  // Many lanes that are all overdue take turns with the live one.
  std::vector<std::shared_ptr<LaneExecutor::Lane>> lanes;
  for (const char* unit : {"b1", "b2", "b3"}) {
    lanes.push_back(Lane(JobClass::kBatch));
    lanes.back()->Submit(Unit(unit));
    clock_.Advance(absl::Seconds(1));
  }
  clock_.Advance(absl::Minutes(1));
  const auto live = Lane(JobClass::kLive);
  for (const char* unit : {"l1", "l2", "l3"}) live->Submit(Unit(unit));
  // The one that is overdue for longest first.
  EXPECT_THAT(Order(), ElementsAre("b1", "l1", "b2", "l2", "b3", "l3"));
}

TEST_F(LaneExecutorTest, NorDoesALateDeadlineStarve) {
  const auto soon = Lane(JobClass::kLive, clock_.Now() + absl::Seconds(30));
  const auto late = Lane(JobClass::kLive, clock_.Now() + absl::Seconds(90));
  late->Submit(Unit("late"));
  for (const char* unit : {"s2", "s4", "s6", "s8"}) soon->Submit(Unit(unit, absl::Seconds(2)));
  EXPECT_THAT(Order(), ElementsAre("s2", "s4", "s6", "late", "s8"));
}

TEST_F(LaneExecutorTest, ClearDropsWhatWaits) {
  const auto lane = Lane(JobClass::kLive);
  const auto other = Lane(JobClass::kLive);
  std::thread::id destroyed_on;
  int64_t depth_when_destroyed = -1;
  // Asks the executor, as a unit's owner may: not with its lock held.
  const auto at_end = [&](int*) {
    destroyed_on = std::this_thread::get_id();
    depth_when_destroyed = executor_->queue_depth();
  };
  lane->Submit([owned = std::shared_ptr<int>(new int, [&](int* value) {
                  at_end(value);
                  delete value;
                })] {});
  lane->Submit(Unit("dropped"));
  other->Submit(Unit("other"));
  EXPECT_EQ(executor_->queue_depth(), 3);
  lane->Clear();
  EXPECT_EQ(destroyed_on, std::this_thread::get_id());
  EXPECT_EQ(depth_when_destroyed, 1);
  lane->Clear();  // of nothing
  lane->Submit(Unit("later"));
  EXPECT_EQ(executor_->queue_depth(), 2);
  EXPECT_THAT(Order(), ElementsAre("other", "later"));
}

TEST_F(LaneExecutorTest, AUnitMayClearItsOwnLane) {
  const auto lane = Lane(JobClass::kLive);
  lane->Submit([&, runs = Unit("runs")] {
    lane->Clear();
    runs();
  });
  lane->Submit(Unit("dropped"));
  EXPECT_THAT(Order(), ElementsAre("runs"));
}

TEST_F(LaneExecutorTest, ADroppedLaneIsServedToItsEnd) {
  Lane(JobClass::kBatch)->Submit(Unit("unit"));
  EXPECT_THAT(Order(), ElementsAre("unit"));
}

TEST(LaneExecutor, CountsWhatWaits) {
  LaneExecutor executor("test");
  absl::Notification started, go_on, done;
  const auto lane = executor.NewLane();
  lane->Submit([&] {
    started.Notify();
    go_on.WaitForNotification();
  });
  lane->Submit([] {});
  lane->Submit([&] { done.Notify(); });
  started.WaitForNotification();
  EXPECT_EQ(executor.queue_depth(), 2);
  go_on.Notify();
  done.WaitForNotification();
  EXPECT_EQ(executor.queue_depth(), 0);
}

TEST(LaneExecutor, UnitsMaySubmitMore) {
  absl::Notification done;
  LaneExecutor executor("test");
  const auto lane = executor.NewLane();
  lane->Submit([&] { lane->Submit([&] { done.Notify(); }); });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

}  // namespace
}  // namespace isocenter::scheduler
