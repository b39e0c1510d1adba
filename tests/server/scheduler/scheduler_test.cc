#include "server/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::scheduler {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Scheduler> MakeScheduler(std::vector<int64_t> memory, int max_active_jobs) {
  std::vector<std::unique_ptr<DeviceSlot>> slots;
  for (const int64_t bytes : memory) {
    slots.push_back(std::make_unique<DeviceSlot>("slot", bytes, "test"));
  }
  return std::make_unique<Scheduler>(std::move(slots), max_active_jobs);
}

TEST(Scheduler, ReservesMemoryUntilTheAdmissionEnds) {
  const auto scheduler = MakeScheduler({1000}, 5);
  {
    auto admission = scheduler->Admit(0, 0, 600);
    ASSERT_TRUE(admission.ok());
    const absl::Status refused = scheduler->Admit(0, 0, 500).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("needs 500 bytes of memory; 400 are free of 1000"));
    admission->ShrinkToHost(100);
    EXPECT_EQ(scheduler->slots()[0]->memory.used(), 100);
    EXPECT_TRUE(scheduler->Admit(0, 0, 500).ok());
  }
  EXPECT_EQ(scheduler->slots()[0]->memory.used(), 0);
  EXPECT_EQ(scheduler->active_jobs(), 0);
}

TEST(Scheduler, TheHostsMemoryIsCountedApartFromADevicesOwn) {
  MemoryBudget host(1000);
  std::vector<std::unique_ptr<DeviceSlot>> slots;
  for (int i = 0; i < 2; ++i) {
    slots.push_back(std::make_unique<DeviceSlot>("slot", 500, "test", &host));
  }
  Scheduler scheduler(std::move(slots), 5);
  Admission first = *scheduler.Admit(0, 400, 700);
  EXPECT_EQ(scheduler.slots()[0]->memory.used(), 400);
  EXPECT_EQ(host.used(), 700);
  // The other device has room, the host has not; nothing of the refused job stays reserved.
  EXPECT_THAT(std::string(scheduler.Admit(1, 400, 700).status().message()),
              HasSubstr("needs 700 bytes of memory; 300 are free of 1000"));
  EXPECT_EQ(scheduler.slots()[1]->memory.used(), 0);
  first.ShrinkToHost(100);
  EXPECT_EQ(scheduler.slots()[0]->memory.used(), 0);
  EXPECT_EQ(host.used(), 100);
  // Where the device's memory is the host's, both are one sum.
  const auto cpu = MakeScheduler({1000}, 5);
  const Admission sum = *cpu->Admit(0, 400, 500);
  EXPECT_EQ(cpu->slots()[0]->memory.used(), 900);
}

TEST(Scheduler, LimitsActiveJobs) {
  const auto scheduler = MakeScheduler({1000}, 1);
  Admission first = *scheduler->Admit(0, 0, 1);
  const absl::Status refused = scheduler->Admit(0, 0, 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0 are free of 1"));
  EXPECT_EQ(scheduler->slots()[0]->memory.used(), 1);  // nothing of the refused job
  first = Admission();
  EXPECT_TRUE(scheduler->Admit(0, 0, 1).ok());
}

TEST(Scheduler, PrefersTheSlotWithTheMostFreeMemory) {
  const auto scheduler = MakeScheduler({1000, 1000, 900}, 5);
  EXPECT_EQ(scheduler->EmptiestSlot(), 0);
  const Admission first = *scheduler->Admit(0, 0, 300);
  EXPECT_EQ(scheduler->EmptiestSlot(), 1);
  const Admission second = *scheduler->Admit(1, 0, 200);
  EXPECT_EQ(scheduler->EmptiestSlot(), 2);
}

TEST(SpeedEstimate, FollowsWhatIsMeasured) {
  SpeedEstimate speed;
  EXPECT_EQ(speed.PredictSeconds(1e9), 0);
  speed.Add(4e9, 2);
  EXPECT_DOUBLE_EQ(speed.PredictSeconds(8e9), 4);
  speed.Add(1e9, 1.5);  // 0.75 * 4e9 + 1e9 updates in 0.75 * 2 + 1.5 seconds
  EXPECT_DOUBLE_EQ(speed.PredictSeconds(4e9), 3);
  speed.Add(0, 1);
  speed.Add(1, 0);
  EXPECT_DOUBLE_EQ(speed.PredictSeconds(4e9), 3);
}

}  // namespace
}  // namespace isocenter::scheduler
