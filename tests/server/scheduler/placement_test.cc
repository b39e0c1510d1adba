// Which slot suits a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/scheduler/scheduler.h"

namespace isocenter::scheduler {
namespace {

using jobs::JobClass;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Slots of 1000 bytes, each with its assumed updates per second.
std::unique_ptr<Scheduler> Slots(const std::vector<double>& speeds) {
  std::vector<std::unique_ptr<DeviceSlot>> slots;
  for (const double speed : speeds) {
    slots.push_back(std::make_unique<DeviceSlot>("slot", 1000, "test", nullptr, speed));
  }
  return std::make_unique<Scheduler>(std::move(slots), 5);
}

std::vector<int> Order(const std::vector<Forecast>& ranked) {
  std::vector<int> order;
  for (const Forecast& forecast : ranked) order.push_back(forecast.slot);
  return order;
}

TEST(Rank, TheFasterSlotUntilItsBacklogIsLonger) {
  const auto scheduler = Slots({10, 40});
  const auto idle = scheduler->Rank(120, JobClass::kLive);
  EXPECT_THAT(Order(idle), ElementsAre(1, 0));
  EXPECT_EQ(idle[0].wait, absl::ZeroDuration());
  EXPECT_EQ(idle[0].compute, absl::Seconds(3));
  EXPECT_EQ(idle[1].finish(), absl::Seconds(12));
  Workload work = scheduler->slots()[1]->backlog.Add(JobClass::kLive, 400);
  const auto busy = scheduler->Rank(120, JobClass::kLive);
  EXPECT_THAT(Order(busy), ElementsAre(0, 1));
  EXPECT_EQ(busy[1].wait, absl::Seconds(10));
  EXPECT_EQ(busy[1].finish(), absl::Seconds(13));
  work.Done(80);
  EXPECT_THAT(Order(scheduler->Rank(120, JobClass::kLive)), ElementsAre(1, 0));
}

TEST(Rank, WorseClassesAreNotWaitedFor) {
  const auto scheduler = Slots({10, 10});
  const Workload batch = scheduler->slots()[0]->backlog.Add(JobClass::kBatch, 1000);
  const Workload interactive = scheduler->slots()[1]->backlog.Add(JobClass::kInteractive, 100);
  EXPECT_EQ(scheduler->Rank(10, JobClass::kLive)[0].wait, absl::ZeroDuration());
  EXPECT_THAT(Order(scheduler->Rank(10, JobClass::kLive)), ElementsAre(0, 1));
  EXPECT_THAT(Order(scheduler->Rank(10, JobClass::kInteractive)), ElementsAre(0, 1));
  EXPECT_THAT(Order(scheduler->Rank(10, JobClass::kBatch)), ElementsAre(1, 0));
}

TEST(Rank, TiesGoToMoreFreeMemoryThenToTheFirst) {
  const auto scheduler = Slots({10, 10, 10});
  const Admission admission = *scheduler->Admit(0, 300, 0);
  EXPECT_THAT(Order(scheduler->Rank(10, JobClass::kLive)), ElementsAre(1, 2, 0));
}

TEST(Rank, WhatWasMeasuredCounts) {
  const auto scheduler = Slots({10, 10});
  scheduler->slots()[1]->cost.Add(200, 10);
  const auto ranked = scheduler->Rank(100, JobClass::kLive);
  EXPECT_THAT(Order(ranked), ElementsAre(1, 0));
  EXPECT_EQ(ranked[0].compute, absl::Seconds(5));
}

TEST(Quarantine, TakesASlotOut) {
  const auto scheduler = Slots({10, 10});
  DeviceSlot& lost = *scheduler->slots()[0];
  EXPECT_TRUE(lost.healthy());
  EXPECT_EQ(lost.quarantine_reason(), "");
  lost.Quarantine("the device fell off the bus");
  lost.Quarantine("a consequence of it");
  EXPECT_FALSE(lost.healthy());
  EXPECT_EQ(lost.quarantine_reason(), "the device fell off the bus");
  EXPECT_EQ(scheduler->healthy_slots(), 1);
  EXPECT_THAT(Order(scheduler->Rank(10, JobClass::kLive)), ElementsAre(1));
  const std::vector<SlotDemand> both = {{1, 100}, {0, 100}};
  const absl::Status refused = scheduler->Admit(both, 0).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the device fell off the bus"));
  EXPECT_EQ(scheduler->slots()[1]->memory.used(), 0);
  scheduler->slots()[1]->Quarantine("too");
  EXPECT_THAT(scheduler->Rank(10, JobClass::kLive), IsEmpty());
}

}  // namespace
}  // namespace isocenter::scheduler
