// Motions that tests plant: of the size that was asked for, and the same for the same seed.
#include "kernels/phantom/planted_motion.h"

#include <gtest/gtest.h>

#include "kernels/base/units.h"

namespace isocenter::phantom {
namespace {

constexpr MotionKind kKinds[] = {MotionKind::kSmooth, MotionKind::kJolt, MotionKind::kPeriodic};

TEST(PlantedMotion, IsAsLargeAsItWasAskedFor) {
  for (const MotionKind kind : kKinds) {
    for (uint64_t seed = 1; seed < 20; ++seed) {
      const auto poses = PlantedMotion(kind, 4, 3, seed).AtFrames(4001);
      const MotionExtent extent = ExtentOf(poses);
      EXPECT_LT(extent.shift_mm, 4.001);
      EXPECT_LT(extent.turn_rad, DegreesToRadians(3.001));
      EXPECT_GT(extent.shift_mm, 3.9);
      EXPECT_GT(RadiansToDegrees(extent.turn_rad), 2.9);
      Vec3 mean;
      for (const RigidPose& pose : poses) mean = mean + (1.0 / 4001) * pose.shift_mm;
      EXPECT_LT(Norm(mean), 1.5);
    }
    const auto still = PlantedMotion(kind, 0, 0, 1).AtFrames(100);
    EXPECT_EQ(ExtentOf(still).shift_mm, 0);
    EXPECT_EQ(ExtentOf(still).turn_rad, 0);
  }
}

TEST(PlantedMotion, FollowsItsSeed) {
  for (const MotionKind kind : kKinds) {
    EXPECT_EQ(PlantedMotion(kind, 4, 3, 7).At(0.3), PlantedMotion(kind, 4, 3, 7).At(0.3));
    EXPECT_NE(PlantedMotion(kind, 4, 3, 7).At(0.3), PlantedMotion(kind, 4, 3, 8).At(0.3));
  }
}

TEST(PlantedMotion, AJoltIsShort) {
  const auto poses = PlantedMotion(MotionKind::kJolt, 4, 3, 3).AtFrames(1001);
  int moving = 0;
  for (size_t k = 1; k < poses.size(); ++k) moving += poses[k] != poses[k - 1];
  EXPECT_GT(moving, 20);
  EXPECT_LT(moving, 35);
}

}  // namespace
}  // namespace isocenter::phantom
