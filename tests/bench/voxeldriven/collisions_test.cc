#include "tests/bench/voxeldriven/collisions.h"

#include <gtest/gtest.h>

#include "kernels/geometry/trajectory.h"

namespace isocenter::bench {
namespace {

// A view along y (the source on it) or along x, far away, with pixels as large as voxels.
ProjectionMatrix ViewFrom(double angle, const Detector& detector) {
  return MakeCircularOrbit({.views = 1,
                            .source_to_isocenter_mm = 9000,
                            .source_to_detector_mm = 9001,
                            .start_angle = angle},
                           detector)
      ->front();
}

// One slice of voxels falls into the middle of pixels, and so do 32 columns or 8 slices.
constexpr Detector kDetector{.columns = 99, .rows = 100, .pitch_u_mm = 1, .pitch_v_mm = 1};
constexpr double kAlongY = 1.5707963267948966;

TEST(CountCollisions, ThreadsBehindEachOtherAddToOnePixel) {
  // 32 x 8 voxels in an axial plane: 8 of them one behind the other, or 32.
  const VolumeGrid grid = CenteredGrid(32, 8, 1, {1, 1, 1});
  const auto share = [&](double angle, ThreadPlane plane) {
    return CountCollisions(ViewFrom(angle, kDetector), grid, kDetector, plane, 1).share;
  };
  EXPECT_NEAR(share(kAlongY, ThreadPlane::kAxial), 7 / 8.0, 0.02);
  EXPECT_NEAR(share(0, ThreadPlane::kAxial), 31 / 32.0, 0.02);
}

TEST(CountCollisions, ThreadsBesideEachOtherDoNot) {
  VolumeGrid grid = CenteredGrid(32, 1, 8, {1, 1, 1});
  grid.origin.z += 0.5;
  const Collisions across =
      CountCollisions(ViewFrom(kAlongY, kDetector), grid, kDetector, ThreadPlane::kCoronal, 1);
  EXPECT_LT(across.share, 0.1);
  EXPECT_NEAR(across.apart, 1, 0.01);
  const Collisions behind =
      CountCollisions(ViewFrom(0, kDetector), grid, kDetector, ThreadPlane::kCoronal, 1);
  EXPECT_NEAR(behind.share, 31 / 32.0, 0.02);
}

TEST(CountCollisions, WhatNoPixelSeesDoesNotCount) {
  VolumeGrid grid = CenteredGrid(32, 8, 1, {1, 1, 1});
  grid.origin.z = 400;
  EXPECT_EQ(CountCollisions(ViewFrom(0, kDetector), grid, kDetector, ThreadPlane::kAxial, 1).share,
            0);
}

}  // namespace
}  // namespace isocenter::bench
