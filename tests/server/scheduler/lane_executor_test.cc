#include "server/scheduler/lane_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/synchronization/notification.h"

namespace isocenter::scheduler {
namespace {

TEST(LaneExecutor, ServesLanesInTurnAndEachInOrder) {
  std::vector<std::string> order;
  {
    LaneExecutor executor("test");
    const auto first = executor.NewLane();
    const auto second = executor.NewLane();
    absl::Notification all_submitted;
    executor.NewLane()->Submit([&] { all_submitted.WaitForNotification(); });
    for (const char* unit : {"a1", "a2", "a3"})
      first->Submit([&order, unit] { order.push_back(unit); });
    for (const char* unit : {"b1", "b2"}) second->Submit([&order, unit] { order.push_back(unit); });
    all_submitted.Notify();
  }  // runs what was submitted
  EXPECT_THAT(order, ::testing::ElementsAre("a1", "b1", "a2", "b2", "a3"));
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
