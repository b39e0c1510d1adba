#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/phantom/phantom.h"
#include "tests/kernels/geometry/random_numbers.h"
#include "tests/kernels/phantom/quadrature.h"

namespace isocenter::phantom {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Phantom> Make(const std::vector<float>& voxels, const VolumeGrid& grid) {
  auto phantom = MakeVoxelPhantom(voxels, grid);
  EXPECT_TRUE(phantom.ok()) << phantom.status();
  return *std::move(phantom);
}

// An oblique grid with anisotropic voxels, off the isocentre.
VolumeGrid ObliqueGrid(int nx, int ny, int nz) {
  VolumeGrid grid{.nx = nx, .ny = ny, .nz = nz, .spacing = {0.9, 1.3, 2.1}, .origin = {-9, 4, -20}};
  const double c = std::cos(0.4), s = std::sin(0.4);
  grid.direction = {c, 0, s, s, 0, -c, 0, 1, 0};
  EXPECT_TRUE(ValidateGrid(grid).ok()) << ValidateGrid(grid);
  return grid;
}

std::vector<float> Noise(const VolumeGrid& grid, uint64_t seed) {
  RandomNumbers random(seed);
  std::vector<float> voxels(grid.voxels());
  for (float& voxel : voxels) voxel = static_cast<float>(random.Uniform(0, 0.05));
  return voxels;
}

// Directly from the definition, in float64: all crossings of a half-line with the planes through
// voxel centres, sorted; between them Milne's open rule, exact for the cubic.
double ExactIntegral(const Phantom& phantom, const VolumeGrid& grid, Vec3 source, Vec3 direction) {
  const Vec3 o = grid.WorldToVoxel(source);
  const Vec3 d = grid.WorldToVoxel(source + direction) - o;
  std::vector<double> crossings = {0};
  const auto add = [&crossings](double position, double slope, int count) {
    for (int plane = 0; plane < count; ++plane) {
      const double t = (plane - position) / slope;
      if (std::isfinite(t) && t > 0) crossings.push_back(t);
    }
  };
  add(o.x, d.x, grid.nx);
  add(o.y, d.y, grid.ny);
  add(o.z, d.z, grid.nz);
  std::sort(crossings.begin(), crossings.end());
  double sum = 0;
  for (size_t i = 0; i + 1 < crossings.size(); ++i) {
    const double a = crossings[i], length = crossings[i + 1] - a;
    const auto at = [&](double share) {
      return phantom.Attenuation(source + (a + share * length) * direction);
    };
    sum += length / 3 * (2 * at(0.25) - at(0.5) + 2 * at(0.75));
  }
  return sum;
}

TEST(VoxelPhantom, InterpolatesAndIsZeroOutside) {
  // Eight voxels of value i + 10·j + 100·k: trilinear is that formula.
  const VolumeGrid grid{.nx = 2, .ny = 2, .nz = 2, .spacing = {1, 2, 4}};
  const auto phantom = Make({0, 1, 10, 11, 100, 101, 110, 111}, grid);
  EXPECT_NEAR(phantom->Attenuation({0.25, 1, 3}), 0.25 + 5 + 75, 1e-12);
  EXPECT_NEAR(phantom->Attenuation({1, 2, 4}), 111, 1e-12);
  EXPECT_EQ(phantom->Attenuation({1.001, 1, 1}), 0);
  EXPECT_EQ(phantom->Attenuation({0.5, -0.001, 1}), 0);
  EXPECT_EQ(phantom->Attenuation({std::nan(""), 1, 1}), 0);
}

TEST(VoxelPhantom, IntegratesALineByHand) {
  const VolumeGrid grid{.nx = 2, .ny = 2, .nz = 2, .spacing = {1, 2, 4}};
  const auto phantom = Make({0, 1, 10, 11, 100, 101, 110, 111}, grid);
  // Along x through y = 1 (half), z = 3 (three quarters): the mean of x over 1 mm.
  EXPECT_NEAR(phantom->LineIntegral({-7, 1, 3}, {1, 0, 0}), 0.5 + 5 + 75, 1e-4);
  EXPECT_NEAR(phantom->LineIntegral({-7, 1, 3}, {-1, 0, 0}), 0, 0) << "behind the source";
  EXPECT_NEAR(phantom->LineIntegral({0.5, 1, 3}, {1, 0, 0}), 0.5 * (0.75 + 5 + 75), 1e-4)
      << "from the inside";
  EXPECT_NEAR(phantom->LineIntegral({0.5, -9, 2}, {0, 1, 0}), 2 * (0.5 + 5 + 50), 1e-3);
}

// float32 positions are good to 1e-5 of a voxel, sums to 1e-6 of their terms.
constexpr double kRelative = 2e-5;

TEST(VoxelPhantom, IsExactOnAnyGridAndRay) {
  RandomNumbers random(1);
  for (const VolumeGrid& grid : {ObliqueGrid(23, 17, 12), CenteredGrid(9, 31, 40, {1, 1, 0.5}),
                                 CenteredGrid(2, 2, 2, {20, 20, 20}), ObliqueGrid(40, 2, 9)}) {
    const auto phantom = Make(Noise(grid, 2), grid);
    const Vec3 middle =
        grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1));
    for (int ray = 0; ray < 500; ++ray) {
      const Vec3 source = middle + random.Vector(ray % 5 == 0 ? 5 : 600);
      Vec3 direction = UnitVector(middle + random.Vector(10) - source);
      const double exact = ExactIntegral(*phantom, grid, source, direction);
      EXPECT_NEAR(phantom->LineIntegral(source, direction), exact, kRelative * (exact + 0.1));
    }
  }
}

TEST(VoxelPhantom, IsExactAlongTheAxesAndThroughCorners) {
  const VolumeGrid grid = CenteredGrid(20, 21, 22, {1, 1, 1});
  const auto phantom = Make(Noise(grid, 3), grid);
  RandomNumbers random(4);
  for (int ray = 0; ray < 300; ++ray) {
    const double x = random.Uniform(-9, 9), y = random.Uniform(-9, 9);
    const Vec3 rays[][2] = {
        {{-50, x, y}, {1, 0, 0}},
        {{x, 50, y}, {0, -1, 0}},
        {{x, y, 50}, {0, 0, -1}},
        {{x, -50, y}, UnitVector({1e-12, 1, -1e-12})},
        // Through lattice points, along planes of the lattice and their diagonals.
        {{-50.5, std::floor(x), 0.5}, {1, 0, 0}},
        {{-40.5, -40 + std::floor(y), 0.5}, UnitVector({1, 1, 0})},
        {{-40.5, 40, -39.5}, UnitVector({1, -1, 1})},
    };
    for (const auto& [source, direction] : rays) {
      const double exact = ExactIntegral(*phantom, grid, source, direction);
      EXPECT_NEAR(phantom->LineIntegral(source, direction), exact, kRelative * (exact + 0.1));
    }
  }
}

// On the faces of the box the function jumps to zero: a ray in a face may see it or not, but
// nothing else, and never reads beyond the memory (the sanitizers of the check build watch).
TEST(VoxelPhantom, GrazingRaysStayInBounds) {
  const VolumeGrid grid = CenteredGrid(9, 9, 9, {1, 1, 1});
  const auto phantom = Make(std::vector<float>(grid.voxels(), 1.0f), grid);
  for (double face : {-4.0, 4.0, std::nextafter(4.0, 0.0), std::nextafter(4.0, 5.0)}) {
    for (double other : {-4.0, 0.0, 0.3, 4.0}) {
      const double integral = phantom->LineIntegral({-30, face, other}, {1, 0, 0});
      EXPECT_TRUE(std::abs(integral) < 1e-4 || std::abs(integral - 8) < 1e-4) << integral;
    }
    const double diagonal = phantom->LineIntegral({-34, -34, face}, UnitVector({1, 1, 0}));
    EXPECT_TRUE(std::abs(diagonal) < 1e-4 || std::abs(diagonal - 8 * std::sqrt(2)) < 1e-4);
  }
  RandomNumbers random(6);
  for (int ray = 0; ray < 20000; ++ray) {  // through points near an edge of the box
    const Vec3 edge{4, random.Coin() ? 4.0 : -4.0, random.Uniform(-5, 5)};
    const Vec3 source = random.Vector(100);
    const double integral = phantom->LineIntegral(source, UnitVector(edge - source));
    EXPECT_GE(integral, -1e-4);
    EXPECT_LE(integral, 8 * std::sqrt(3) + 1e-3);
  }
}

// Skipping empty blocks changes nothing: a few voxels in a large empty volume.
TEST(VoxelPhantom, FindsLonelyVoxels) {
  const VolumeGrid grid = CenteredGrid(50, 60, 70, {1, 1, 1});
  RandomNumbers random(7);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<float> voxels(grid.voxels());
    const int i = static_cast<int>(random.Uniform(0, 50)),
              j = static_cast<int>(random.Uniform(0, 60)),
              k = static_cast<int>(random.Uniform(0, 70));
    voxels[(k * 60 + j) * 50 + i] = 1;
    const auto phantom = Make(voxels, grid);
    const Vec3 target = grid.VoxelToWorld(i, j, k) + random.Vector(0.4);
    const Vec3 source = random.Vector(300);
    const Vec3 direction = UnitVector(target - source);
    const double exact = ExactIntegral(*phantom, grid, source, direction);
    EXPECT_NEAR(phantom->LineIntegral(source, direction), exact, 2e-4);  // positions of 70 voxels
  }
}

TEST(VoxelPhantom, RefusesWhatDoesNotFit) {
  const VolumeGrid grid = CenteredGrid(2, 3, 4, {1, 1, 1});
  const auto short_volume = MakeVoxelPhantom(std::vector<float>(23), grid);
  EXPECT_EQ(short_volume.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(short_volume.status().message()), HasSubstr("23 voxels"));
  std::vector<float> voxels(24);
  voxels[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(std::string(MakeVoxelPhantom(voxels, grid).status().message()), HasSubstr("voxel 7"));
  EXPECT_FALSE(MakeVoxelPhantom(std::vector<float>(), VolumeGrid{}).ok());
}

TEST(VoxelPhantom, HostileRaysGiveNoNonsense) {
  const VolumeGrid grid = CenteredGrid(5, 5, 5, {1, 1, 1});
  const auto phantom = Make(std::vector<float>(125, 1.0f), grid);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(phantom->LineIntegral({nan, 0, 0}, {1, 0, 0}), 0);
  EXPECT_EQ(phantom->LineIntegral({0, 0, 0}, {nan, nan, nan}), 0);
  EXPECT_EQ(phantom->LineIntegral({inf, 0, 0}, {-1, 0, 0}), 0);
  EXPECT_EQ(phantom->LineIntegral({0, 0, 0}, {0, 0, 0}), 0);
}

TEST(VoxelPhantom, HasABoxOfItsOutermostCentres) {
  const VolumeGrid grid = ObliqueGrid(6, 5, 4);
  const auto phantom = Make(std::vector<float>(grid.voxels(), 1), grid);
  const Box box = phantom->Bounds();
  Vec3 low{1e9, 1e9, 1e9}, high{-1e9, -1e9, -1e9};
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const Vec3 p = grid.VoxelToWorld(i, j, k);
        low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
      }
    }
  }
  EXPECT_EQ(box.low, low);
  EXPECT_EQ(box.high, high);
}

}  // namespace
}  // namespace isocenter::phantom
