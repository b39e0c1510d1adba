#include "kernels/recon/motion/angular_steps.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/base/units.h"
#include "kernels/recon/motion/matrix_model.h"

namespace isocenter::recon {
namespace {

constexpr int kViews = 41;
constexpr double kStepDeg = 5;

Trajectory Orbit() {
  const Detector detector{.columns = 64, .rows = 48, .pitch_u_mm = 4, .pitch_v_mm = 4};
  return *MakeCircularOrbit({.views = kViews,
                             .source_to_isocenter_mm = 700,
                             .source_to_detector_mm = 1100,
                             .start_angle = 0.4,
                             .arc = DegreesToRadians(kStepDeg * (kViews - 1))},
                            detector);
}

std::vector<double> SharesOf(const std::vector<RigidPose>& poses) {
  std::vector<double> of_frames, shares(poses.size());
  for (const RigidPose& pose : poses) {
    const std::vector<double> six = ParametersOf(pose);
    of_frames.insert(of_frames.end(), six.begin(), six.end());
  }
  AngularSteps::Create(Orbit())->Evaluate(of_frames, shares);
  return shares;
}

TEST(AngularSteps, AreThoseOfTheArmFromAnObjectAtRest) {
  for (const double share : SharesOf(std::vector<RigidPose>(kViews))) EXPECT_EQ(share, 1);
}

// One that turns with the arm by a tenth of its speed sees nine tenths of the angles.
TEST(AngularSteps, AreSmallerWhereTheObjectTurnsWithTheArm) {
  for (const double speed : {0.1, -0.1}) {
    std::vector<RigidPose> poses(kViews);
    for (int view = 0; view < kViews; ++view) {
      poses[view].turn_rad.z = speed * DegreesToRadians(kStepDeg) * view;
    }
    for (const double share : SharesOf(poses)) EXPECT_NEAR(share, 1 - speed, 1e-9);
  }
}

TEST(AngularSteps, AreThoseOfTheMatricesOfTheObjectAtRest) {
  std::vector<RigidPose> poses(kViews);
  for (int view = 0; view < kViews; ++view) {
    const double t = 0.1 * view;
    poses[view] = {.turn_rad = {0.01 * std::sin(t), 0.02 * std::cos(t), 0.01 * std::cos(2 * t)},
                   .shift_mm = {2 * std::sin(t), 2 * std::cos(t), std::sin(3 * t)}};
  }
  const auto before = SourceAngles(Orbit()), after = SourceAngles(*SeenAtRest(Orbit(), poses));
  const std::vector<double> shares = SharesOf(poses);
  for (int view = 1; view + 1 < kViews; ++view) {
    const double expected =
        ((*after)[view + 1] - (*after)[view - 1]) / ((*before)[view + 1] - (*before)[view - 1]);
    // Of the second order: turns of 0.02.
    EXPECT_NEAR(shares[view], expected, 2e-3) << view;
  }
}

TEST(AngularSteps, OfSourcesThatTurnBackAreTheLeast) {
  std::vector<RigidPose> poses(kViews);
  for (int view = 20; view < kViews; ++view) poses[view].turn_rad.z = DegreesToRadians(15);
  const std::vector<double> shares = SharesOf(poses);
  EXPECT_EQ(shares[19], AngularSteps::kLeastShare);
  EXPECT_EQ(shares[20], AngularSteps::kLeastShare);
  EXPECT_NEAR(shares[18], 1, 1e-9);
}

TEST(AngularSteps, GatherIsTheAdjoint) {
  const auto steps = AngularSteps::Create(Orbit());
  std::mt19937 random(3);
  const auto draw = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
  std::vector<double> of_frames(6 * kViews), shares(kViews), by_share(kViews);
  for (double& value : of_frames) value = draw();
  for (double& value : by_share) value = draw();
  steps->Evaluate(of_frames, shares);
  std::vector<double> by_frame(of_frames.size());
  steps->Gather(shares, by_share, by_frame);
  double left = 0, right = 0;
  for (int view = 0; view < kViews; ++view) left += (shares[view] - 1) * by_share[view];
  for (size_t i = 0; i < of_frames.size(); ++i) right += of_frames[i] * by_frame[i];
  EXPECT_GT(std::abs(left), 1e-3);
  EXPECT_NEAR(left, right, 1e-12);
}

TEST(AngularSteps, NeedAnOrbit) {
  EXPECT_EQ(AngularSteps::Create({Orbit().front()}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AngularSteps::Create(Trajectory(5, Orbit().front())).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::recon
