#include "kernels/recon/motion/similarity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/base/units.h"

namespace isocenter::recon {
namespace {

constexpr int kViews = 60, kSpans = 8;

Trajectory Orbit() {
  const Detector detector{.columns = 64, .rows = 48, .pitch_u_mm = 4, .pitch_v_mm = 4};
  return *MakeCircularOrbit({.views = kViews,
                             .source_to_isocenter_mm = 700,
                             .source_to_detector_mm = 1100,
                             .arc = DegreesToRadians(200)},
                            detector);
}

std::vector<double> Drawn(size_t count) {
  std::mt19937 random(11);
  std::vector<double> drawn(count);
  for (double& value : drawn) value = static_cast<double>(random() % 2001) / 1000 - 1;
  return drawn;
}

TEST(SimilarityModes, LeavePosesWithoutAMeanAndWithoutAScale) {
  const FrameSpline spline(kViews, kSpans);
  const auto modes = SimilarityModes::Create(Orbit(), spline);
  ASSERT_TRUE(modes.ok()) << modes.status();
  std::vector<double> controls = Drawn(size_t(spline.controls()) * 6);
  modes->Remove(controls);
  std::vector<double> poses(6 * kViews);
  spline.Evaluate(controls, 6, poses);
  double towards = 0, size = 0;
  for (int p = 0; p < 6; ++p) {
    double mean = 0;
    for (int view = 0; view < kViews; ++view) {
      mean += poses[6 * view + p];
      size += std::abs(poses[6 * view + p]);
    }
    EXPECT_NEAR(mean, 0, 1e-9) << p;
  }
  for (int view = 0; view < kViews; ++view) {
    const double angle = DegreesToRadians(200.0 * view / (kViews - 1));
    towards += std::cos(angle) * poses[6 * view] + std::sin(angle) * poses[6 * view + 1];
  }
  EXPECT_NEAR(towards, 0, 1e-9);
  EXPECT_GT(size / (6 * kViews), 0.1);
}

TEST(SimilarityModes, RemovedTwiceAreAsRemovedOnce) {
  const FrameSpline spline(kViews, kSpans);
  const auto modes = SimilarityModes::Create(Orbit(), spline);
  std::vector<double> once = Drawn(size_t(spline.controls()) * 6);
  modes->Remove(once);
  std::vector<double> twice = once;
  modes->Remove(twice);
  for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], once[i], 1e-12);
}

}  // namespace
}  // namespace isocenter::recon
