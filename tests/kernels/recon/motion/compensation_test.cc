#include "kernels/recon/motion/compensation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/recon/iterative/small_scan.h"

namespace isocenter::recon {
namespace {

ReconstructionPlan PlanOf(const SmallScan& scan, const ops::Device& device) {
  const ops::Device* const devices[] = {&device};
  return *MakePlan(scan.acquisition, scan.grid, {.mu_water_per_mm = kMuWater}, TestRegistry(),
                   devices, Arrival::kComplete);
}

TEST(WithMotion, OfAnObjectAtRestIsThePlan) {
  const SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("cpu");
  const ReconstructionPlan plan = PlanOf(scan, *device);
  const auto same = WithMotion(plan, std::vector<RigidPose>(plan.views()));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->column_weight, plan.column_weight);
  for (int view = 0; view < plan.views(); ++view) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_NEAR(same->acquisition.trajectory[view].m[i], plan.acquisition.trajectory[view].m[i],
                  1e-9);
    }
  }
}

TEST(WithMotion, HasTheMatricesAtRestAndWeighsViewsThatTurnAway) {
  const SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("cpu");
  const ReconstructionPlan plan = PlanOf(scan, *device);
  std::vector<RigidPose> poses(plan.views());
  for (int view = 0; view < plan.views(); ++view) {
    poses[view] = {.turn_rad = {0, 0, 0.01 * view}, .shift_mm = {0, 0, 0.1 * view}};
  }
  const auto moved = WithMotion(plan, poses);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->acquisition.trajectory, *SeenAtRest(scan.acquisition.trajectory, poses));
  const double step = DegreesToRadians(342) / (plan.views() - 1);
  const size_t columns = plan.column_weight.size() / plan.views();
  for (size_t i = 0; i < plan.column_weight.size(); i += columns / 2) {
    EXPECT_NEAR(moved->column_weight[i], plan.column_weight[i] * (1 - 0.01 / step),
                1e-5 * std::abs(plan.column_weight[i]));
  }
}

TEST(WithMotion, NeedsAPoseForEachView) {
  const SmallScan scan = MakeSmallScan();
  const auto device = OpenDevice("cpu");
  const auto moved = WithMotion(PlanOf(scan, *device), std::vector<RigidPose>(19));
  EXPECT_EQ(moved.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(moved.status().message()),
              testing::HasSubstr("there are 19 poses for 20 views"));
}

}  // namespace
}  // namespace isocenter::recon
