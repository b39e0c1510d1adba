#include "server/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/base/try_again.h"
#include "tests/server/scheduler/manual_clock.h"

namespace isocenter::scheduler {
namespace {

using ::testing::EndsWith;
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
                HasSubstr("needs 500 bytes of memory; 400 bytes are free of 1000 bytes"));
    admission->ShrinkToHost(100);
    EXPECT_EQ(scheduler->slots()[0]->memory.used(), 100);
    EXPECT_TRUE(scheduler->Admit(0, 0, 500).ok());
  }
  EXPECT_EQ(scheduler->slots()[0]->memory.used(), 0);
  EXPECT_EQ(scheduler->active_jobs(), 0);
}

TEST(Scheduler, TheHostsMemoryIsCountedApartFromADevicesOwn) {
  PromisedMemory host(1000);
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
              HasSubstr("needs 700 bytes of memory; 300 bytes are free of 1000 bytes"));
  EXPECT_EQ(scheduler.slots()[1]->memory.used(), 0);
  first.ShrinkToHost(100);
  EXPECT_EQ(scheduler.slots()[0]->memory.used(), 0);
  EXPECT_EQ(host.used(), 100);
  // Where the device's memory is the host's, both are one sum.
  const auto cpu = MakeScheduler({1000}, 5);
  const Admission sum = *cpu->Admit(0, 400, 500);
  EXPECT_EQ(cpu->slots()[0]->memory.used(), 900);
}

TEST(Scheduler, TellsWhenSomethingWasGivenBack) {
  const auto scheduler = MakeScheduler({1000}, 5);
  std::vector<int64_t> used;
  scheduler->WhenFreed([&] { used.push_back(scheduler->slots()[0]->memory.used()); });
  {
    Admission admission = *scheduler->Admit(0, 300, 600);
    admission.ShrinkToHost(100);
  }
  // Called when it is free already, and not by who takes.
  EXPECT_THAT(used, testing::ElementsAre(100, 0));
  scheduler->WhenFreed(nullptr);
  *scheduler->Admit(0, 0, 100);
  EXPECT_EQ(used.size(), 2u);
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

TEST(Scheduler, SeveralDevicesForOneJobAreAllOrNothing) {
  PromisedMemory host(1000);
  std::vector<std::unique_ptr<DeviceSlot>> slots;
  for (int i = 0; i < 3; ++i) {
    slots.push_back(std::make_unique<DeviceSlot>("slot", 500, "test", &host));
  }
  Scheduler scheduler(std::move(slots), 5);
  const auto used = [&](int slot) { return scheduler.slots()[slot]->memory.used(); };
  const std::vector<SlotDemand> all = {{0, 300}, {1, 200}, {2, 100}};
  {
    Admission shared = *scheduler.Admit(all, 600);
    EXPECT_EQ(scheduler.active_jobs(), 1);
    EXPECT_EQ(used(0), 300);
    EXPECT_EQ(used(1), 200);
    EXPECT_EQ(used(2), 100);
    EXPECT_EQ(host.used(), 600);
    // The second device is what is missing; the others keep nothing of it.
    const std::vector<SlotDemand> more = {{0, 200}, {1, 400}, {2, 200}};
    const absl::Status refused = scheduler.Admit(more, 100).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("needs 400 bytes of memory; 300 bytes are free of 500 bytes"));
    EXPECT_EQ(used(0), 300);
    EXPECT_EQ(used(1), 200);
    EXPECT_EQ(used(2), 100);
    EXPECT_EQ(host.used(), 600);
    EXPECT_EQ(scheduler.active_jobs(), 1);
    shared.ShrinkToHost(50);
    EXPECT_EQ(used(0) + used(1) + used(2), 0);
    EXPECT_EQ(host.used(), 50);
  }
  EXPECT_EQ(host.used(), 0);
  EXPECT_EQ(scheduler.active_jobs(), 0);
}

/// One slot of 1000 bytes, three places, and a clock.
class EarliestTime : public ::testing::Test {
 protected:
  EarliestTime() : scheduler_(OneSlot(), 3, clock_.function()) {}

  static std::vector<std::unique_ptr<DeviceSlot>> OneSlot() {
    std::vector<std::unique_ptr<DeviceSlot>> slots;
    slots.push_back(std::make_unique<DeviceSlot>("slot", 1000, "test"));
    return slots;
  }

  Admission Admit(int64_t bytes, absl::Duration expected) {
    Admission admission = *scheduler_.Admit(0, bytes, 0);
    admission.ExpectEnd(clock_.Now() + expected);
    return admission;
  }
  absl::Status Refused(int64_t bytes) { return scheduler_.Admit(0, bytes, 0).status(); }

  ManualClock clock_;
  Scheduler scheduler_;
};

TEST_F(EarliestTime, WhenEnoughMemoryWillBeFree) {
  const Admission late = Admit(300, absl::Seconds(40));
  const Admission soon = Admit(500, absl::Milliseconds(11'300));
  const absl::Status refused = Refused(600);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(
      std::string(refused.message()),
      "the job needs 600 bytes of memory; 200 bytes are free of 1000 bytes; try again when other "
      "jobs have ended, at the earliest in about 12 s");
  EXPECT_EQ(RetryAfter(refused), absl::Seconds(12));
  EXPECT_EQ(RetryAfter(Refused(701)), absl::Seconds(40));  // both must have ended
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(RetryAfter(Refused(600)), absl::Seconds(2));
  clock_.Advance(absl::Seconds(10));  // it takes longer than predicted
  EXPECT_EQ(RetryAfter(Refused(600)), absl::Seconds(1));
}

TEST_F(EarliestTime, WhenAPlaceWillBeFree) {
  const Admission first = Admit(1, absl::Seconds(30));
  const Admission second = Admit(1, absl::Seconds(20));
  Admission third = Admit(1, absl::Seconds(25));
  const absl::Status refused = Refused(1);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0 are free of 3; try again when other "
                                                        "jobs have ended, at the earliest in "
                                                        "about 20 s"));
  EXPECT_EQ(RetryAfter(refused), absl::Seconds(20));
  third.ExpectEnd(clock_.Now() + absl::Seconds(5));  // a better prediction
  EXPECT_EQ(RetryAfter(Refused(1)), absl::Seconds(5));
  EXPECT_EQ(RetryAfter(Refused(1000)), absl::Seconds(30));  // memory takes longer than a place
}

TEST_F(EarliestTime, NotWhenItIsUnknown) {
  const Admission known = Admit(300, absl::Seconds(10));
  const Admission unknown = *scheduler_.Admit(0, 600, 0);
  EXPECT_EQ(RetryAfter(Refused(400)), absl::Seconds(10));
  const absl::Status refused = Refused(500);
  EXPECT_THAT(std::string(refused.message()), EndsWith("try again when other jobs have ended"));
  EXPECT_TRUE(MayTryAgain(refused));
  EXPECT_EQ(RetryAfter(refused), std::nullopt);
}

TEST_F(EarliestTime, NotForWhatNeverFits) {
  const Admission admission = Admit(300, absl::Seconds(10));
  const absl::Status refused = Refused(1001);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), EndsWith("choose a smaller grid or detector"));
  EXPECT_FALSE(MayTryAgain(refused));
}

TEST_F(EarliestTime, CountsWhatAJobStillHolds) {
  Admission shrunk = Admit(900, absl::Seconds(10));
  shrunk.ShrinkToHost(100);
  const Admission other = Admit(800, absl::Seconds(20));
  // Without it there would still be only 200.
  EXPECT_EQ(RetryAfter(Refused(300)), absl::Seconds(20));
}

TEST(EarliestTimeOfSeveralBudgets, IsThatOfWhatIsMissing) {
  PromisedMemory host(1000);
  std::vector<std::unique_ptr<DeviceSlot>> slots;
  for (int i = 0; i < 2; ++i) {
    slots.push_back(std::make_unique<DeviceSlot>("slot", 500, "test", &host));
  }
  const ManualClock clock;
  Scheduler scheduler(std::move(slots), 5, clock.function());
  Admission other_device = *scheduler.Admit(0, 500, 0);
  other_device.ExpectEnd(clock.Now() + absl::Seconds(5));
  Admission most_of_the_host = *scheduler.Admit(1, 0, 900);
  most_of_the_host.ExpectEnd(clock.Now() + absl::Seconds(10));
  Admission same_device = *scheduler.Admit(1, 400, 50);
  same_device.ExpectEnd(clock.Now() + absl::Seconds(60));
  // The device's last 100 bytes are free; 450 of the host's are missing.
  EXPECT_EQ(RetryAfter(scheduler.Admit(1, 100, 500).status()), absl::Seconds(10));
  EXPECT_EQ(RetryAfter(scheduler.Admit(1, 101, 500).status()), absl::Seconds(60));
  const std::vector<SlotDemand> both = {{0, 1}, {1, 100}};
  EXPECT_EQ(RetryAfter(scheduler.Admit(both, 50).status()), absl::Seconds(5));
}

TEST(SchedulerTest, ABatchJobLeavesAQuarterToTheOthers) {
  std::vector<std::unique_ptr<DeviceSlot>> slots;
  slots.push_back(std::make_unique<DeviceSlot>("cpu0", 100, "iso-test"));
  Scheduler scheduler(std::move(slots), 4);
  constexpr auto kBatch = jobs::JobClass::kBatch;
  {
    // Alone it may have everything.
    EXPECT_TRUE(scheduler.Admit(0, 100, 0, kBatch).ok());
  }
  const auto live = scheduler.Admit(0, 20, 0);
  ASSERT_TRUE(live.ok());
  const absl::Status refused = scheduler.Admit(0, 56, 0, kBatch).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(refused.message().find("80 bytes are free, of which 25 bytes are kept for live"),
            absl::string_view::npos)
      << refused;
  const auto first = scheduler.Admit(0, 10, 0, kBatch), second = scheduler.Admit(0, 10, 0, kBatch);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(scheduler.Admit(0, 1, 0, kBatch).status().message().find("the last 1 of 4 are kept"),
            absl::string_view::npos);
  EXPECT_TRUE(scheduler.Admit(0, 60, 0).ok());
}

}  // namespace
}  // namespace isocenter::scheduler
