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
    auto admission = scheduler->Admit(0, 600);
    ASSERT_TRUE(admission.ok());
    const absl::Status refused = scheduler->Admit(0, 500).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("needs 500 bytes of memory; 400 are free of 1000"));
    admission->memory().ShrinkTo(100);
    EXPECT_EQ(scheduler->slots()[0]->memory.used(), 100);
    EXPECT_TRUE(scheduler->Admit(0, 500).ok());
  }
  EXPECT_EQ(scheduler->slots()[0]->memory.used(), 0);
  EXPECT_EQ(scheduler->active_jobs(), 0);
}

TEST(Scheduler, LimitsActiveJobs) {
  const auto scheduler = MakeScheduler({1000}, 1);
  Admission first = *scheduler->Admit(0, 1);
  const absl::Status refused = scheduler->Admit(0, 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0 are free of 1"));
  EXPECT_EQ(scheduler->slots()[0]->memory.used(), 1);  // nothing of the refused job
  first = Admission();
  EXPECT_TRUE(scheduler->Admit(0, 1).ok());
}

TEST(Scheduler, PrefersTheSlotWithTheMostFreeMemory) {
  const auto scheduler = MakeScheduler({1000, 1000, 900}, 5);
  EXPECT_EQ(scheduler->EmptiestSlot(), 0);
  const Admission first = *scheduler->Admit(0, 300);
  EXPECT_EQ(scheduler->EmptiestSlot(), 1);
  const Admission second = *scheduler->Admit(1, 200);
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
