#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {
namespace {

constexpr double kWater = 0.02;
const Detector kDetector{.columns = 61, .rows = 41, .pitch_u_mm = 8, .pitch_v_mm = 8};

ProjectionMatrix View(double angle) {
  const CircularOrbit orbit{.views = 1,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .start_angle = angle};
  return MakeCircularOrbit(orbit, kDetector)->front();
}

std::vector<float> Project(const Phantom& phantom, const ProjectionMatrix& matrix, int subsamples,
                           int threads = 1) {
  ThreadPool pool(threads);
  std::vector<float> image(kDetector.columns * kDetector.rows);
  ProjectView(phantom, matrix, kDetector, subsamples, pool,
              HostView3<float>(image.data(), {1, kDetector.rows, kDetector.columns}));
  return image;
}

TEST(ProjectView, ImagesEachPixelCentre) {
  const auto phantom = MakePhantom("cylinder", 80, kWater);
  ASSERT_TRUE(phantom.ok()) << phantom.status();
  const auto image = Project(**phantom, View(0.4), 1);
  // The middle ray, and one 10 columns aside: a chord of a circle seen under atan(80/1200).
  EXPECT_NEAR(image[20 * 61 + 30], 160 * kWater, 1e-6);  // float32
  const double distance = 750 * std::sin(std::atan(80.0 / 1200));
  EXPECT_NEAR(image[20 * 61 + 40], 2 * std::sqrt(80 * 80 - distance * distance) * kWater, 1e-6);
  EXPECT_EQ(image[20 * 61 + 40], image[20 * 61 + 20]) << "symmetric up to rounding";
  EXPECT_EQ(image[20 * 61], 0);
}

// 3 x 3 rays per pixel are the centres of a detector with pixels of a third.
TEST(ProjectView, SubsamplesAverageOverThePixel) {
  const auto phantom = MakePhantom("edge", 80, kWater);
  ASSERT_TRUE(phantom.ok()) << phantom.status();
  const Detector fine{
      .columns = 61 * 3, .rows = 41 * 3, .pitch_u_mm = 8.0 / 3, .pitch_v_mm = 8.0 / 3};
  const CircularOrbit orbit{
      .views = 1, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200};
  ThreadPool pool(2);
  std::vector<float> fine_image(fine.columns * fine.rows);
  ProjectView(**phantom, MakeCircularOrbit(orbit, fine)->front(), fine, 1, pool,
              HostView3<float>(fine_image.data(), {1, fine.rows, fine.columns}));
  const auto image = Project(**phantom, View(0), 3);
  for (int v = 0; v < 41; ++v) {
    for (int u = 0; u < 61; ++u) {
      double sum = 0;
      for (int i = 0; i < 9; ++i) sum += fine_image[(3 * v + i / 3) * fine.columns + 3 * u + i % 3];
      EXPECT_NEAR(image[v * 61 + u], sum / 9, 1e-5);
    }
  }
}

// From far away the sum over all pixels is the same from every side: the volume integral of the
// attenuation.
TEST(ProjectView, ConservesMass) {
  const auto phantom = MakePhantom("head", 60, kWater);
  ASSERT_TRUE(phantom.ok()) << phantom.status();
  const Detector detector{.columns = 200, .rows = 200, .pitch_u_mm = 1, .pitch_v_mm = 1};
  ThreadPool pool(2);
  std::vector<float> image(detector.columns * detector.rows);
  std::vector<float> volume(100 * 100 * 100);
  const VolumeGrid grid = CenteredGrid(100, 100, 100, {1.3, 1.3, 1.3});
  Rasterize(**phantom, grid, kWater, 2, pool, HostView3<float>(volume.data(), grid.shape()));
  double mass = 0;
  for (float hu : volume) mass += kWater * (1 + hu / 1000.0) * 1.3 * 1.3 * 1.3;
  for (double angle : {0.0, 1.0, 2.0}) {
    const CircularOrbit orbit{.views = 1,
                              .source_to_isocenter_mm = 10000,
                              .source_to_detector_mm = 10100,
                              .start_angle = angle};
    ProjectView(**phantom, MakeCircularOrbit(orbit, detector)->front(), detector, 2, pool,
                HostView3<float>(image.data(), {1, 200, 200}));
    double sum = 0;
    for (float p : image) sum += p;
    // A pixel of 1 mm is 10000/10100 mm at the isocentre. Magnification differs by (60/10000)² over
    // the object in the mean, sampling of both sums by about 1e-3.
    EXPECT_NEAR(sum * std::pow(10000.0 / 10100, 2) / mass, 1, 3e-3);
  }
}

TEST(ProjectView, DoesNotDependOnTheNumberOfThreads) {
  const auto phantom = MakePhantom("head", 80, kWater);
  ASSERT_TRUE(phantom.ok()) << phantom.status();
  EXPECT_EQ(Project(**phantom, View(2), 2, 1), Project(**phantom, View(2), 2, 3));
}

TEST(Rasterize, IsAttenuationInHuAtVoxelCentres) {
  const auto phantom = MakePhantom("head", 80, kWater);
  ASSERT_TRUE(phantom.ok()) << phantom.status();
  VolumeGrid grid = CenteredGrid(20, 21, 22, {8, 8.5, 9});
  grid.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  ThreadPool pool(2);
  std::vector<float> volume(grid.voxels());
  Rasterize(**phantom, grid, kWater, 1, pool, HostView3<float>(volume.data(), grid.shape()));
  for (int k = 0; k < 22; ++k) {
    for (int j = 0; j < 21; ++j) {
      for (int i = 0; i < 20; ++i) {
        const double mu = (*phantom)->Attenuation(grid.VoxelToWorld(i, j, k));
        EXPECT_NEAR(volume[(k * 21 + j) * 20 + i], 1000 * (mu - kWater) / kWater, 1e-3);
      }
    }
  }
}

// The mean over a voxel that the flat end of the water cylinder halves.
TEST(Rasterize, SubsamplesAverageOverTheVoxel) {
  const auto phantom = MakePhantom("cylinder", 10, kWater);
  ASSERT_TRUE(phantom.ok()) << phantom.status();
  VolumeGrid grid{.nx = 1, .ny = 1, .nz = 1, .spacing = {2, 2, 2}, .origin = {0, 0, 10}};
  ThreadPool pool(1);
  float hu = 0;
  Rasterize(**phantom, grid, kWater, 4, pool, HostView3<float>(&hu, grid.shape()));
  EXPECT_NEAR(hu, -500, 1e-3);
}

}  // namespace
}  // namespace isocenter::phantom
