#include "kernels/recon/motion/matrix_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/geometry/projection_matrix.h"

namespace isocenter::recon {
namespace {

ProjectionMatrix View() {
  return Compose({.source = {700, 200, 30},
                  .u_axis = {-0.28, 0.96, 0},
                  .v_axis = {0, 0, -1},
                  .depth_axis = {-0.96, -0.28, 0},
                  .focal_u_px = 800,
                  .focal_v_px = 790,
                  .principal_u_px = 120,
                  .principal_v_px = 90});
}

TEST(PoseModel, ChangesAsSeenAtRest) {
  const RigidPose pose{.turn_rad = {0.02, -0.03, 0.05}, .shift_mm = {1, -2, 3}};
  const std::vector<double> parameters = ParametersOf(pose);
  const ProjectionMatrix changed = *NormalizeMatrix(InPose(View(), parameters));
  const ProjectionMatrix expected = *SeenAtRest(View(), pose);
  for (int i = 0; i < 12; ++i) EXPECT_NEAR(changed.m[i], expected.m[i], 1e-9) << i;
}

TEST(PoseModel, PullsDerivativesBack) {
  std::mt19937 random(7);
  ops::MatrixSlope slope;
  for (double& value : slope) value = static_cast<double>(random() % 2000) / 1000 - 1;
  const auto criterion = [&](std::span<const double> parameters) {
    const ProjectionMatrix changed = InPose(View(), parameters);
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += slope[i] * changed.m[i];
    return sum;
  };
  // At rest, where formulas have their limits, and far from it.
  for (const double far : {0.0, 1e-5, 1.0, 20.0}) {
    std::vector<double> parameters{far, -2 * far, far, 2 * far, -far, 3 * far};
    std::vector<double> gradient(6);
    PullToPose(View(), parameters, slope, gradient);
    for (int i = 0; i < 6; ++i) {
      constexpr double kStep = 1e-3;
      std::vector<double> more = parameters, less = parameters;
      more[i] += kStep;
      less[i] -= kStep;
      const double expected = (criterion(more) - criterion(less)) / (2 * kStep);
      EXPECT_NEAR(gradient[i], expected, 1e-6 * (1 + std::abs(expected))) << far << ", " << i;
    }
  }
}

TEST(FrameSpline, ReproducesAParabola) {
  constexpr int kFrames = 31, kSpans = 5;
  const FrameSpline spline(kFrames, kSpans);
  ASSERT_EQ(spline.controls(), kSpans + 3);
  // Of control points on a parabola the curve is the parabola plus a third of its bend.
  std::vector<double> controls, frames(kFrames);
  for (int k = 0; k < spline.controls(); ++k) controls.push_back((k - 1) * (k - 1));
  spline.Evaluate(controls, 1, frames);
  for (int frame = 0; frame < kFrames; ++frame) {
    const double t = double(frame) * kSpans / (kFrames - 1);
    EXPECT_NEAR(frames[frame], t * t + 1.0 / 3, 1e-12);
  }
}

TEST(FrameSpline, OfNoSpansIsAConstant) {
  const FrameSpline spline(4, 0);
  ASSERT_EQ(spline.controls(), 1);
  const std::vector<double> control{2, 3};
  std::vector<double> frames(8);
  spline.Evaluate(control, 2, frames);
  EXPECT_EQ(frames, (std::vector<double>{2, 3, 2, 3, 2, 3, 2, 3}));
}

TEST(FrameSpline, GathersAsItsAdjoint) {
  constexpr int kFrames = 17, kSpans = 4, kEach = 2;
  const FrameSpline spline(kFrames, kSpans);
  std::mt19937 random(11);
  std::vector<double> controls(spline.controls() * kEach), by_controls(controls.size());
  std::vector<double> frames(kFrames * kEach), by_frames(frames.size());
  for (double& value : controls) value = random() % 100;
  for (double& value : by_frames) value = random() % 100;
  spline.Evaluate(controls, kEach, frames);
  spline.Gather(by_frames, kEach, by_controls);
  double forward = 0, back = 0;
  for (size_t i = 0; i < frames.size(); ++i) forward += frames[i] * by_frames[i];
  for (size_t i = 0; i < controls.size(); ++i) back += controls[i] * by_controls[i];
  EXPECT_NEAR(forward, back, 1e-9 * forward);
}

TEST(FrameSpline, IsTheSameWithTwiceTheSpans) {
  constexpr int kFrames = 29, kSpans = 3, kEach = 2;
  const FrameSpline coarse(kFrames, kSpans), fine(kFrames, 2 * kSpans);
  std::mt19937 random(13);
  std::vector<double> controls(coarse.controls() * kEach);
  for (double& value : controls) value = random() % 100;
  const std::vector<double> more = WithTwiceTheSpans(controls, kEach, kSpans);
  ASSERT_EQ(more.size(), size_t(fine.controls()) * kEach);
  std::vector<double> expected(kFrames * kEach), got(kFrames * kEach);
  coarse.Evaluate(controls, kEach, expected);
  fine.Evaluate(more, kEach, got);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-9) << i;
}

}  // namespace
}  // namespace isocenter::recon
