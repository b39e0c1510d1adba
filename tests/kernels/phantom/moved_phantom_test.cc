// A moved phantom before an arm is the phantom at rest before a moved arm.
#include "kernels/phantom/moved_phantom.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace isocenter::phantom {
namespace {

constexpr double kWater = 0.02;
const RigidPose kPose{.turn_rad = {0.05, -0.03, 0.08}, .shift_mm = {4, -3, 7}};

TEST(MovedPhantom, EqualsMovedMatrices) {
  const std::shared_ptr<const Phantom> head = *MakePhantom("head", 90, kWater);
  const MovedPhantom moved(head, kPose);
  const Detector detector{.columns = 60, .rows = 48, .pitch_u_mm = 6, .pitch_v_mm = 6};
  const Trajectory arm = *MakeWobblingOrbit(
      {.views = 4, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200, .arc = 3},
      detector, 1, 5);
  ThreadPool pool(2);
  std::vector<float> a(48 * 60), b(a.size());
  for (const ProjectionMatrix& view : arm) {
    ProjectView(moved, view, detector, 1, pool, {a.data(), {1, 48, 60}});
    ProjectView(*head, *SeenAtRest(view, kPose), detector, 1, pool, {b.data(), {1, 48, 60}});
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << i;
    EXPECT_GT(*std::ranges::max_element(a), 2);
  }
}

TEST(MovedPhantom, IsWhereItHasGone) {
  const std::shared_ptr<const Phantom> head = *MakePhantom("head", 90, kWater);
  const MovedPhantom moved(head, kPose);
  const RigidTransform there = TransformOf(kPose);
  for (const Vec3 p : {Vec3{0, 0, 0}, Vec3{32, 14, -40}, Vec3{0, -56, -43}, Vec3{62, 0, 3}}) {
    EXPECT_EQ(moved.Attenuation(there(p)), head->Attenuation(p));
  }
  const auto halved = moved.Mapped([](double mu) { return mu / 2; });
  EXPECT_EQ(halved->Attenuation(there({0, 0, 0})), head->Attenuation({0, 0, 0}) / 2);
  const Box box = moved.Bounds();
  EXPECT_GT(box.low.x, -90 - 15);
  for (double x = -120; x <= 120; x += 6) {
    for (double y = -120; y <= 120; y += 6) {
      for (double z = -120; z <= 120; z += 6) {
        if (moved.Attenuation({x, y, z}) == 0) continue;
        EXPECT_TRUE(x >= box.low.x && y >= box.low.y && z >= box.low.z && x <= box.high.x &&
                    y <= box.high.y && z <= box.high.z);
      }
    }
  }
}

}  // namespace
}  // namespace isocenter::phantom
