#include "tests/conformance/geometries.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/units.h"
#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

Vec3 Unit(Vec3 a) { return (1 / Norm(a)) * a; }

// u and v axes from a direction that v is to follow.
Camera Looking(Vec3 source, Vec3 up) {
  Camera camera;
  camera.source = source;
  camera.depth_axis = Unit(-source);
  camera.u_axis = Unit(Cross(up, camera.depth_axis));
  camera.v_axis = Cross(camera.depth_axis, camera.u_axis);
  return camera;
}

ProjectionMatrix Normalized(const Camera& camera) {
  auto matrix = NormalizeMatrix(Compose(camera));
  EXPECT_TRUE(matrix.ok()) << matrix.status();
  return *matrix;
}

std::vector<ProjectionMatrix> RandomMatrices(uint32_t seed, Shape3 detector, double object_mm) {
  std::mt19937 random(seed);
  std::vector<ProjectionMatrix> matrices;
  for (int64_t i = 0; i < detector.slow; ++i) {
    matrices.push_back(RandomMatrix(random, detector, object_mm));
  }
  return matrices;
}

VolumeGrid Shifted(VolumeGrid grid, Vec3 by) {
  grid.origin = grid.origin + by;
  return grid;
}

}  // namespace

ProjectionMatrix RandomMatrix(std::mt19937& random, Shape3 detector, double object_mm) {
  const auto draw = [&random](double low, double high) { return Uniform(random, low, high); };
  Vec3 direction, up;
  do {
    direction = {draw(-1, 1), draw(-1, 1), draw(-1, 1)};
    up = {draw(-1, 1), draw(-1, 1), draw(-1, 1)};
  } while (Norm(direction) < 0.2 || Norm(Cross(direction, up)) < 0.2);
  const double distance = draw(300, 1000);
  Camera camera = Looking(distance * Unit(direction), up);
  const double rows = static_cast<double>(detector.middle);
  const double columns = static_cast<double>(detector.fast);
  camera.focal_u_px = distance * columns / object_mm * draw(0.7, 1.5);
  camera.focal_v_px = distance * rows / object_mm * draw(0.7, 1.5) * (draw(-1, 1) < 0 ? -1 : 1);
  camera.skew_px = camera.focal_u_px * draw(-0.05, 0.05);
  camera.principal_u_px = columns * draw(0.3, 0.7);
  camera.principal_v_px = rows * draw(0.3, 0.7);
  return Normalized(camera);
}

std::vector<ProjectionMatrix> CArmMatrices(int views, Shape3 detector, double pixels_per_mm,
                                           double wobble, double roll) {
  std::vector<ProjectionMatrix> matrices;
  constexpr double kDistance = 750;
  for (int i = 0; i < views; ++i) {
    const double angle = 2 * kPi * i / views + 0.3;
    const double a = wobble * std::sin(1.7 * i + 0.4), b = wobble * std::cos(2.3 * i);
    Camera camera = Looking({kDistance * std::cos(angle), kDistance * std::sin(angle), 5 * a},
                            {0.01 * b, 0.01 * a, -1});
    const Vec3 u = camera.u_axis, v = camera.v_axis;
    camera.u_axis = std::cos(roll) * u + std::sin(roll) * v;
    camera.v_axis = std::cos(roll) * v - std::sin(roll) * u;
    camera.focal_u_px = camera.focal_v_px = kDistance * pixels_per_mm;
    camera.principal_u_px = 0.5 * static_cast<double>(detector.fast - 1) + 3 * a;
    camera.principal_v_px = 0.5 * static_cast<double>(detector.middle - 1) - 2 * b;
    matrices.push_back(Normalized(camera));
  }
  return matrices;
}

VolumeGrid Rotated(VolumeGrid grid, double angle) {
  const Vec3 axis = Unit({0.3, -0.5, 0.8});
  const double c = std::cos(angle), s = std::sin(angle), t = 1 - c;
  const double x = axis.x, y = axis.y, z = axis.z;
  grid.direction = {t * x * x + c,     t * x * y - s * z, t * x * z + s * y,
                    t * x * y + s * z, t * y * y + c,     t * y * z - s * x,
                    t * x * z - s * y, t * y * z + s * x, t * z * z + c};
  const Vec3 centre =
      grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1));
  grid.origin = grid.origin - centre;
  return grid;
}

std::vector<BackprojectCase> BackprojectCases() {
  std::vector<BackprojectCase> cases;
  const auto carm = [&cases](std::string name, Shape3 detector, double pixels_per_mm,
                             VolumeGrid grid, double wobble = 1, double roll = 0) {
    cases.push_back(
        {std::move(name), detector,
         CArmMatrices(static_cast<int>(detector.slow), detector, pixels_per_mm, wobble, roll),
         grid});
  };
  const Shape3 odd{7, 91, 117};
  const auto cube = [](int n, double mm) { return CenteredGrid(n, n, n, {mm, mm, mm}); };
  carm("WholeObjectOnTheDetector", odd, 1.0, CenteredGrid(37, 35, 53, {1, 1, 1}));
  carm("IdealOrbit", odd, 1.0, CenteredGrid(37, 35, 53, {1, 1, 1}), 0);
  // Detector pixels per voxel: every window size of the fast paths, and beyond them.
  for (const double pixels : {0.3, 0.7, 0.95, 1.3, 1.97, 2.2, 2.9, 3.7, 5.0, 9.0}) {
    carm("PixelsPerVoxel" + std::to_string(static_cast<int>(100 * pixels)), {5, 150, 140}, pixels,
         cube(33, 1));
  }
  carm("TruncatedDetector", {6, 23, 31}, 1.2, cube(51, 1));
  carm("IdealOrbitTruncatedDetector", {6, 23, 31}, 1.2, cube(51, 1), 0);
  carm("IdealOrbitWidePixels", {6, 40, 45}, 0.65, cube(51, 1), 0);
  carm("DetectorOfOnePixel", {9, 1, 1}, 0.2, cube(20, 1));
  carm("DetectorOfOneRow", {3, 1, 60}, 1.0, cube(33, 1));
  carm("DetectorOfOneColumn", {3, 60, 1}, 1.0, cube(33, 1));
  carm("OneVoxel", odd, 1.0, cube(1, 1));
  carm("OneView", {1, 91, 117}, 1.0, cube(40, 1));
  // More than any method adds in one launch.
  carm("ManyViews", {67, 31, 37}, 1.0, cube(18, 1));
  carm("OneSlice", odd, 1.0, CenteredGrid(40, 30, 1, {1, 1, 1}));
  carm("FlatGrid", odd, 1.0, CenteredGrid(1, 40, 70, {1, 1, 1}));
  carm("AnisotropicVoxels", odd, 1.0, CenteredGrid(45, 20, 18, {0.7, 1.9, 2.6}));
  carm("GridAside", odd, 1.0, Shifted(cube(40, 1), {25, -30, 28}));
  carm("GridHalfOffTheDetector", odd, 1.0, Shifted(cube(40, 1), {10, 0, 55}));
  carm("RotatedGrid", odd, 1.0, Rotated(cube(40, 1), 0.4));
  carm("RotatedAnisotropicGrid", odd, 1.0, Rotated(CenteredGrid(30, 33, 37, {1.3, 0.8, 1.1}), 2.5));
  carm("SlightRoll", odd, 1.0, cube(40, 1), 1, 0.05);
  carm("ManyColumnsPerBlock", odd, 1.0, cube(40, 1), 1, 0.25);
  carm("DetectorTurnedBy90Degrees", odd, 1.0, cube(40, 1), 1, kPi / 2);
  carm("DetectorUpsideDown", odd, 1.0, cube(40, 1), 1, kPi);
  for (uint32_t seed = 0; seed < 6; ++seed) {
    const Shape3 detector{4, 60 + 7 * seed, 90 - 5 * seed};
    cases.push_back({"RandomMatrices" + std::to_string(seed), detector,
                     RandomMatrices(100 + seed, detector, 60), cube(35, 1.3)});
  }
  // The sources lie inside the volume: parts of it are behind them, parts very near.
  const Shape3 wide{4, 80, 80};
  cases.push_back({"SourceInsideTheVolume", wide, RandomMatrices(200, wide, 500),
                   CenteredGrid(40, 42, 44, {45, 45, 45})});
  // One view among others that needs more care than they do.
  carm("OneSourceCloseToTheVolume", {5, 60, 60}, 1.0, cube(40, 1));
  Camera close = Looking({25, 3, 2}, {0, 0, -1});
  close.focal_u_px = close.focal_v_px = 25;
  close.principal_u_px = close.principal_v_px = 30;
  cases.back().matrices[2] = Normalized(close);
  carm("SourceInsideAlongTheOrbit", {5, 60, 60}, 0.05, CenteredGrid(44, 40, 36, {45, 45, 10}));
  return cases;
}

std::vector<ProjectCase> ProjectCases() {
  std::vector<ProjectCase> cases;
  // Rows of pixels lie at whole millimetres along z in views that do not wobble: off the faces.
  const auto carm = [&cases](std::string name, Shape3 detector, double pixels_per_mm,
                             const VolumeGrid& grid, double wobble = 1, double roll = 0) {
    const Vec3 aside{0.137 * grid.spacing.x, -0.211 * grid.spacing.y, 0.283 * grid.spacing.z};
    cases.push_back(
        {{std::move(name), detector,
          CArmMatrices(static_cast<int>(detector.slow), detector, pixels_per_mm, wobble, roll),
          Shifted(grid, aside)}});
  };
  const Shape3 odd{5, 41, 53};
  const auto cube = [](int n, double mm) { return CenteredGrid(n, n, n, {mm, mm, mm}); };
  carm("WholeObjectOnTheDetector", odd, 1.0, CenteredGrid(25, 23, 27, {1, 1, 1}));
  carm("IdealOrbit", odd, 1.0, CenteredGrid(25, 23, 27, {1, 1, 1}), 0);
  // The middle row of rays runs along centres of voxels, not along faces.
  carm("IdealOrbitAside", odd, 1.0, Shifted(CenteredGrid(25, 23, 26, {1, 1, 1}), {1.3, -2.1, 4.7}),
       0);
  carm("IdealOrbitHighGrid", {3, 75, 53}, 1.0, CenteredGrid(20, 31, 61, {1.1, 0.9, 1.2}), 0);
  // More voxels along z, and more rows, than a warp takes at once; some beyond the detector.
  carm("IdealOrbitTallGrid", {2, 301, 47}, 2.5, CenteredGrid(11, 9, 141, {1, 1.2, 1}), 0);
  // The same on an arm that leans.
  carm("TallGrid", {2, 301, 47}, 2.5, CenteredGrid(11, 9, 141, {1, 1.2, 1}), 1, 0.02);
  carm("TallDetector", {2, 601, 31}, 2.9, CenteredGrid(6, 5, 230, {1, 1.2, 1}), 1, 0.02);
  // As many columns as usual detectors have, and these binned by two.
  carm("WideDetector", {1, 101, 650}, 1.7, CenteredGrid(160, 5, 60, {1, 1.2, 1}), 1, 0.01);
  carm("BinnedDetector", {1, 101, 330}, 1.7, CenteredGrid(5, 160, 60, {1.2, 1, 1}), 1, 0.01);
  carm("IdealOrbitLargeVoxels", odd, 1.0, CenteredGrid(12, 13, 9, {7, 6, 5}), 0);
  carm("IdealOrbitLargePixels", {3, 17, 19}, 0.3, CenteredGrid(40, 41, 43, {1, 1, 1}), 0);
  for (const double pixels : {0.3, 0.7, 1.9, 2.6, 3.3, 4.1}) {
    carm("PixelsPerVoxel" + std::to_string(static_cast<int>(100 * pixels)), {3, 61, 57}, pixels,
         cube(19, 1));
  }
  carm("TruncatedDetector", {4, 13, 17}, 1.2, cube(31, 1));
  carm("DetectorOfOnePixel", {9, 1, 1}, 0.2, cube(12, 1), 0.3);
  cases.back().positive_input = true;
  carm("DetectorOfOneRow", {3, 1, 40}, 1.0, cube(21, 1));
  carm("DetectorOfOneColumn", {3, 40, 1}, 1.0, cube(21, 1));
  carm("OneVoxel", odd, 1.0, cube(1, 1));
  cases.back().positive_input = true;
  cases.back().looser = 2;
  carm("OneView", {1, 41, 53}, 1.0, cube(22, 1));
  carm("ManyViews", {37, 15, 17}, 1.0, cube(9, 1));
  carm("OneSlice", odd, 1.0, CenteredGrid(30, 22, 1, {1, 1, 1}));
  carm("FlatGrid", odd, 1.0, CenteredGrid(1, 26, 34, {1, 1, 1}));
  carm("WideGrid", odd, 1.0, CenteredGrid(70, 9, 5, {0.5, 1, 1}));
  carm("AnisotropicVoxels", odd, 1.0, CenteredGrid(31, 14, 12, {0.7, 1.9, 2.6}));
  carm("GridAside", odd, 1.0, Shifted(cube(22, 1), {12, -15, 9}));
  carm("GridHalfOffTheDetector", odd, 1.0, Shifted(cube(22, 1), {5, 0, 25}));
  carm("RotatedGrid", odd, 1.0, Rotated(cube(22, 1), 0.4));
  carm("RotatedAnisotropicGrid", odd, 1.0, Rotated(CenteredGrid(18, 21, 23, {1.3, 0.8, 1.1}), 2.5));
  carm("SlightRoll", odd, 1.0, cube(22, 1), 1, 0.05);
  carm("DetectorTurnedBy90Degrees", odd, 1.0, cube(22, 1), 1, kPi / 2);
  carm("DetectorUpsideDown", odd, 1.0, cube(22, 1), 1, kPi);
  for (uint32_t seed = 0; seed < 5; ++seed) {
    const Shape3 detector{4, 30 + 7 * seed, 50 - 5 * seed};
    cases.push_back({{"RandomMatrices" + std::to_string(seed), detector,
                      RandomMatrices(300 + seed, detector, 40), cube(21, 1.3)}});
  }
  // The sources lie inside the volume: parts of it are behind them, parts very near.
  const Shape3 wide{4, 40, 45};
  cases.push_back({{"SourceInsideTheVolume", wide, RandomMatrices(400, wide, 500),
                    CenteredGrid(24, 26, 22, {75, 75, 75})}});
  cases.back().looser = 10;
  carm("SourceInsideAlongTheOrbit", {5, 30, 30}, 0.05, CenteredGrid(34, 30, 26, {55, 55, 12}));
  cases.back().looser = 10;
  // Outside of the volume, but closer to its border than a voxel's edge.
  carm("OneSourceAtTheMargin", {5, 40, 40}, 1.0, cube(22, 1));
  Camera close = Looking({11.6, 1.3, 0.7}, {0.02, 0.03, -1});
  close.focal_u_px = close.focal_v_px = 20;
  close.principal_u_px = close.principal_v_px = 20;
  cases.back().matrices[2] = Normalized(close);
  cases.back().looser = 10;
  return cases;
}

}  // namespace isocenter::conformance
