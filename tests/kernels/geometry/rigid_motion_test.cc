// Poses of an object, and what views of it see of the object at rest.
#include "kernels/geometry/rigid_motion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/units.h"

namespace isocenter {
namespace {

TEST(RigidMotion, ATurnIsRightHandedAboutItsVector) {
  const RigidTransform quarter = TransformOf({.turn_rad = {0, 0, kPi / 2}, .shift_mm = {1, 2, 3}});
  EXPECT_LT(Norm(quarter({10, 0, 5}) - Vec3{1, 12, 8}), 1e-12);
  const RigidTransform about_x = TransformOf({.turn_rad = {kPi / 2, 0, 0}});
  EXPECT_LT(Norm(about_x({0, 1, 0}) - Vec3{0, 0, 1}), 1e-12);
  const RigidTransform about_y = TransformOf({.turn_rad = {0, kPi / 2, 0}});
  EXPECT_LT(Norm(about_y({0, 0, 1}) - Vec3{1, 0, 0}), 1e-12);
}

TEST(RigidMotion, PosesComeBackFromTransforms) {
  // Tiny ones, large ones, and half a turn about axes on which another element of the quaternion
  // is the largest.
  for (const Vec3 turn :
       {Vec3{0, 0, 0}, Vec3{1e-14, 0, 0}, Vec3{1e-5, -2e-5, 3e-5}, Vec3{0.05, 0.02, -0.01},
        Vec3{-2, 1, 1}, Vec3{3.1, 0.1, 0}, Vec3{0.1, -3.1, 0}, Vec3{0, 0.1, 3.1}}) {
    const RigidPose pose{.turn_rad = turn, .shift_mm = {4, -5, 6}};
    const RigidPose back = PoseOf(TransformOf(pose));
    EXPECT_LT(Norm(back.turn_rad - turn), 1e-12 + 1e-9 * Norm(turn)) << turn.x;
    EXPECT_EQ(back.shift_mm, pose.shift_mm);
  }
}

TEST(RigidMotion, TransformsAreJoinedAndTakenBack) {
  const RigidTransform a = TransformOf({.turn_rad = {0.3, -0.2, 0.5}, .shift_mm = {1, 2, 3}});
  const RigidTransform b = TransformOf({.turn_rad = {-0.1, 0.7, 0.2}, .shift_mm = {-4, 0, 2}});
  const Vec3 point{30, -20, 10};
  EXPECT_LT(Norm(Then(a, b)(point) - b(a(point))), 1e-12);
  EXPECT_LT(Norm(Then(a, Inverse(a))(point) - point), 1e-12);
}

TEST(RigidMotion, AViewSeesThePointWhereItHasGone) {
  const Detector detector{.columns = 100, .rows = 80, .pitch_u_mm = 2, .pitch_v_mm = 2};
  const Trajectory arm = *MakeWobblingOrbit(
      {.views = 7, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3},
      detector, 1, 5);
  std::vector<RigidPose> poses;
  for (int k = 0; k < 7; ++k) {
    poses.push_back({.turn_rad = {0.01 * k, -0.02, 0.05}, .shift_mm = {1, -0.5 * k, 3}});
  }
  const Trajectory seen = *SeenAtRest(arm, poses);
  const Vec3 point{20, -30, 40};
  for (int k = 0; k < 7; ++k) {
    const Projected moved = arm[k].Project(TransformOf(poses[k])(point));
    EXPECT_NEAR(seen[k].Project(point).u(), moved.u(), 1e-9);
    EXPECT_NEAR(seen[k].Project(point).v(), moved.v(), 1e-9);
    EXPECT_NEAR(seen[k](2, 3), 1, 1e-15);
    // The source moves the other way.
    EXPECT_LT(Norm(Decompose(seen[k])->source -
                   Inverse(TransformOf(poses[k]))(Decompose(arm[k])->source)),
              1e-8);
  }
  EXPECT_NEAR(ExtentOf(poses).shift_mm, std::sqrt(1 + 9 + 9), 1e-12);
  EXPECT_EQ(SeenAtRest(arm, std::vector<RigidPose>(7)).value(), arm);
}

TEST(RigidMotion, RefusesWhatCannotBe) {
  const Detector detector{.columns = 100, .rows = 80, .pitch_u_mm = 2, .pitch_v_mm = 2};
  const Trajectory arm = *MakeCircularOrbit(
      {.views = 3, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 1},
      detector);
  EXPECT_THAT(SeenAtRest(arm, std::vector<RigidPose>(2)).status().message(),
              testing::HasSubstr("2 poses for 3 views"));
  std::vector<RigidPose> behind(3);
  behind[0].shift_mm = {800, 0, 0};
  EXPECT_THAT(SeenAtRest(arm, behind).status().message(), testing::HasSubstr("pose of view 0"));
}

}  // namespace
}  // namespace isocenter
