#include "server/scheduler/backlog.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace isocenter::scheduler {
namespace {

using jobs::JobClass;

TEST(Backlog, CountsTheSameAndBetterClasses) {
  Backlog backlog;
  EXPECT_EQ(backlog.Ahead(JobClass::kBatch), 0);
  const Workload live = backlog.Add(JobClass::kLive, 10);
  const Workload interactive = backlog.Add(JobClass::kInteractive, 200);
  const Workload batch = backlog.Add(JobClass::kBatch, 3000);
  EXPECT_EQ(backlog.Ahead(JobClass::kLive), 10);
  EXPECT_EQ(backlog.Ahead(JobClass::kInteractive), 210);
  EXPECT_EQ(backlog.Ahead(JobClass::kBatch), 3210);
}

TEST(Backlog, ShrinksAsWorkIsDone) {
  Backlog backlog;
  std::optional<Workload> first = backlog.Add(JobClass::kLive, 100);
  Workload second = backlog.Add(JobClass::kLive, 50);
  first->Done(30);
  EXPECT_EQ(first->left(), 70);
  EXPECT_EQ(backlog.Ahead(JobClass::kLive), 120);
  first.reset();  // as when a job is cancelled
  EXPECT_EQ(backlog.Ahead(JobClass::kLive), 50);
  second.Done(60);  // more than there was
  EXPECT_EQ(second.left(), 0);
  EXPECT_EQ(backlog.Ahead(JobClass::kLive), 0);
}

TEST(Backlog, AWorkloadMovesWithItsWork) {
  Backlog backlog;
  Workload outer;
  {
    Workload inner = backlog.Add(JobClass::kLive, 100);
    inner.Done(40);
    outer = std::move(inner);
  }
  EXPECT_EQ(backlog.Ahead(JobClass::kLive), 60);
  outer.Done(10);
  EXPECT_EQ(backlog.Ahead(JobClass::kLive), 50);
  outer = Workload();
  EXPECT_EQ(backlog.Ahead(JobClass::kLive), 0);
  outer.Done(1);  // of no backlog
}

TEST(Backlog, RoundingLeavesNothingBehind) {
  Backlog backlog;
  {
    Workload thirds = backlog.Add(JobClass::kBatch, 1);
    const Workload large = backlog.Add(JobClass::kBatch, 1e17);
    for (int i = 0; i < 3; ++i) thirds.Done(1. / 3);
  }
  EXPECT_EQ(backlog.Ahead(JobClass::kBatch), 0);
}

}  // namespace
}  // namespace isocenter::scheduler
