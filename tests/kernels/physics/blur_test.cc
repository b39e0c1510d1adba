#include "kernels/physics/blur.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/units.h"
#include "kernels/phantom/phantom.h"
#include "kernels/physics/tungsten.h"
#include "kernels/physics/view.h"

namespace isocenter::physics {
namespace {

using testing::HasSubstr;

constexpr Detector kDetector{.columns = 60, .rows = 40, .pitch_u_mm = 5, .pitch_v_mm = 4};
constexpr double kSid = 750, kSdd = 1200;

Trajectory Orbit(int views, double start_deg, double arc_deg) {
  return MakeCircularOrbit({.views = views,
                            .source_to_isocenter_mm = kSid,
                            .source_to_detector_mm = kSdd,
                            .start_angle = DegreesToRadians(start_deg),
                            .arc = DegreesToRadians(arc_deg)},
                           kDetector)
      .value();
}

std::vector<ProjectionMatrix> Poses(const Trajectory& orbit, size_t frame, const Blur& blur) {
  return BlurredPoses(orbit, frame, kDetector, blur).value();
}

TEST(Blur, IsNoneByDefault) {
  const Trajectory orbit = Orbit(3, 20, 40);
  const auto poses = Poses(orbit, 1, {});
  ASSERT_EQ(poses.size(), 1u);
  EXPECT_EQ(poses[0], orbit[1]);
}

// Points of the detector stay, the source moves, and a point at the isocentre is spread by the
// spot times the magnification minus 1.
TEST(Blur, OfASpotLeavesTheDetector) {
  const Trajectory orbit = Orbit(1, 0, 0);  // source at +x, detector at -x, u along y
  const auto poses = Poses(orbit, 0, {.focal_spot_mm = 2, .samples = 4});
  ASSERT_EQ(poses.size(), 16u);
  double least = 1e9, most = -1e9;
  for (const ProjectionMatrix& pose : poses) {
    const Camera camera = Decompose(pose).value();
    EXPECT_NEAR(camera.source.x, kSid, 1e-9);
    EXPECT_LE(std::abs(camera.source.y), 0.75 + 1e-9);
    for (const Vec3 point : {Vec3{kSid - kSdd, 0, 0}, {kSid - kSdd, 100, -60}}) {
      EXPECT_NEAR(pose.Project(point).u(), orbit[0].Project(point).u(), 1e-9);
      EXPECT_NEAR(pose.Project(point).v(), orbit[0].Project(point).v(), 1e-9);
    }
    least = std::min(least, pose.Project({}).u());
    most = std::max(most, pose.Project({}).u());
  }
  EXPECT_NEAR((most - least) * kDetector.pitch_u_mm, 2 * 0.75 * (kSdd / kSid - 1), 1e-9);
}

// Positions between frames of 1.5 degrees are those of a finer orbit.
TEST(Blur, OfTheArmIsOnItsWay) {
  const Trajectory orbit = Orbit(5, 10, 6);
  const double share = 0.8;
  for (size_t frame : {size_t{0}, size_t{2}, size_t{4}}) {
    const auto poses = Poses(orbit, frame, {.exposure_share = share, .samples = 4});
    ASSERT_EQ(poses.size(), 4u);
    for (int i = 0; i < 4; ++i) {
      const double at = 10 + 1.5 * (static_cast<double>(frame) + share * ((i + 0.5) / 4 - 0.5));
      const ProjectionMatrix expected = Orbit(1, at, 0)[0];
      for (const Vec3 point : {Vec3{}, {50, 40, 30}, {-60, 30, -40}}) {
        EXPECT_NEAR(poses[i].Project(point).u(), expected.Project(point).u(), 5e-3);
        EXPECT_NEAR(poses[i].Project(point).v(), expected.Project(point).v(), 5e-3);
      }
    }
  }
}

TEST(Blur, AveragesIntensities) {
  const Trajectory orbit = Orbit(2, 0, 5);
  const Beam beam =
      Beam::Make(TungstenSpectrum({.kv = 80}).value(), 0.6, TissueMaterials()).value();
  const auto phantom = phantom::MakePhantom("edge", 60, 0.02).value();
  const TissueObject object(*phantom, 0.02, TissueMap(EffectiveKev(beam), true));
  const auto poses = Poses(orbit, 0, {.focal_spot_mm = 3, .exposure_share = 1, .samples = 2});
  ASSERT_EQ(poses.size(), 8u);
  ThreadPool pool(2);
  std::vector<Reading> all(60 * 40), one(60 * 40);
  ReadView(object, RowBeams(beam), poses, kDetector, 1, pool, all);
  std::vector<double> mean(all.size());
  for (const ProjectionMatrix& pose : poses) {
    ReadView(object, RowBeams(beam), {&pose, 1}, kDetector, 1, pool, one);
    for (size_t i = 0; i < one.size(); ++i) mean[i] += one[i].signal / 8;
  }
  for (size_t i = 0; i < mean.size(); ++i) ASSERT_NEAR(all[i].signal, mean[i], 1e-12) << i;
}

TEST(Blur, HasRanges) {
  const auto error = [](const Blur& blur) { return std::string(ValidateBlur(blur).message()); };
  EXPECT_EQ(error({}), "");
  EXPECT_THAT(error({.focal_spot_mm = -0.1}), HasSubstr("focal_spot_mm is -0.1; legal is 0 to 5"));
  EXPECT_THAT(error({.exposure_share = 1.1}), HasSubstr("exposure_share is 1.1; legal is 0 to 1"));
  EXPECT_THAT(error({.samples = 1}), HasSubstr("samples is 1; legal is 2 to 16"));
  EXPECT_THAT(error({.samples = 17}), HasSubstr("samples is 17"));
}

}  // namespace
}  // namespace isocenter::physics
