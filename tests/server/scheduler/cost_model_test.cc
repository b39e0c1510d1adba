#include "server/scheduler/cost_model.h"

#include <gtest/gtest.h>

namespace isocenter::scheduler {
namespace {

TEST(CostModel, AssumesItsPriorUntilSomethingIsMeasured) {
  CostModel cost(2e9);
  EXPECT_DOUBLE_EQ(cost.PredictSeconds(8e9), 4);
  cost.Add(0, 1);
  cost.Add(1, 0);
  cost.Add(-1, -1);
  EXPECT_DOUBLE_EQ(cost.PredictSeconds(8e9), 4);
  cost.Add(4e9, 2.5);
  EXPECT_DOUBLE_EQ(cost.PredictSeconds(8e9), 5);
}

TEST(CostModel, AMeasurementCountsByItsTimeAndFades) {
  CostModel cost(1);
  cost.Add(60e9, 30);
  cost.Add(30e9, 30);  // which halves what was before: 30e9 + 30e9 updates in 15 + 30 s
  EXPECT_DOUBLE_EQ(cost.PredictSeconds(60e9), 45);
}

TEST(CostModel, AJobCountsAsMuchAsItsChunks) {
  CostModel whole(1), chunks(1);
  for (CostModel* cost : {&whole, &chunks}) cost->Add(50e9, 5);
  whole.Add(4e9, 1);
  for (int i = 0; i < 20; ++i) chunks.Add(0.2e9, 0.05);
  EXPECT_NEAR(chunks.PredictSeconds(1e9), whole.PredictSeconds(1e9),
              0.01 * whole.PredictSeconds(1e9));  // a chunk fades by those after it
}

TEST(CostModel, FollowsADeviceThatHasBecomeSlower) {
  CostModel cost(1);
  for (int i = 0; i < 100; ++i) cost.Add(10e9, 1);
  for (int i = 0; i < 100; ++i) cost.Add(10e9, 2);
  EXPECT_NEAR(cost.PredictSeconds(10e9), 2, 0.05);
}

}  // namespace
}  // namespace isocenter::scheduler
