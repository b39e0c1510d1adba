#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/phantom/composite_phantom.h"
#include "kernels/physics/scatter/volume.h"
#include "tests/kernels/geometry/random_numbers.h"

namespace isocenter::physics {
namespace {

constexpr double kMu = 0.02;
constexpr double kKev = 60;

ScatterVolume Volume(const phantom::Phantom& object, int threads = 2) {
  ThreadPool pool(threads);
  return ScatterVolume(object, kMu, TissueMap(kKev, true), pool);
}

const phantom::Phantom& Head() {
  static const auto& head = *phantom::MakePhantom("head", 100, kMu).value().release();
  return head;
}

const ScatterVolume& HeadVolume() {
  static const auto& volume = *new ScatterVolume(Volume(Head()));
  return volume;
}

// Cells of a hundredth of the head blur its borders, so single paths differ by some cells and the
// mean of many does not.
TEST(ScatterVolume, HasThePathsOfItsObject) {
  const TissueObject exact(Head(), kMu, TissueMap(kKev, true));
  const ScatterVolume& volume = HeadVolume();
  RandomNumbers random(5);
  std::array<double, 2> sums{}, expected_sums{};
  for (int i = 0; i < 2000; ++i) {
    const double angle = random.Uniform(0, 6.28);
    const Vec3 from = 90 * Vec3{std::cos(angle), std::sin(angle), random.Uniform(-0.3, 0.3)};
    const Vec3 to{random.Uniform(-40, 40), random.Uniform(-40, 40), random.Uniform(-40, 40)};
    const Vec3 along = (1 / Norm(to - from)) * (to - from);
    const ByMaterial paths = volume.PathsMm(from, along);
    const auto expected = exact.PathsMm(from, along);
    for (int m : {0, 1}) {
      EXPECT_NEAR(paths[m], expected[m], 20) << i << ' ' << m;
      sums[m] += paths[m];
      expected_sums[m] += expected[m];
    }
    EXPECT_EQ(paths[2], 0);
  }
  EXPECT_NEAR(sums[0] / expected_sums[0], 1, 0.005);
  EXPECT_NEAR(sums[1] / expected_sums[1], 1, 0.01);
}

// A box along the axes is its own cells.
TEST(ScatterVolume, IsExactForABox) {
  const phantom::CompositePhantom box(
      {{phantom::Body(phantom::Body::Shape::kBox, {5, -10, 20}, {50, 30, 20}), 0.7 * kMu}},
      phantom::CompositePhantom::Overlap::kReplace);
  const ScatterVolume volume = Volume(box);
  const Inside inside = volume.Clip({-100, -10, 20}, {1, 0, 0});
  EXPECT_NEAR(inside.begin, 55, 1e-9);
  EXPECT_NEAR(inside.end, 155, 1e-9);
  EXPECT_NEAR(volume.PathsMm({-100, -10, 20}, {1, 0, 0})[0], 70, 1e-4);
  EXPECT_NEAR(volume.PathsMm({5, -10, 20}, {0, 0.6, 0.8})[0], 0.7 * 25, 1e-4);
  EXPECT_NEAR(volume.At({54.9, -39.9, 0.1})[0], 0.7, 1e-6);
  const Inside beside = volume.Clip({-100, 25, 20}, {1, 0, 0});
  EXPECT_FALSE(beside.end > beside.begin);
  EXPECT_EQ(volume.PathsMm({-100, 25, 20}, {1, 0, 0})[0], 0);
}

TEST(ScatterVolume, KnowsItsMost) {
  const ScatterVolume& volume = HeadVolume();
  RandomNumbers random(6);
  for (const ByMaterial& coefficients :
       {ByMaterial{1, 1, 1, 0}, ByMaterial{0.2f, 0.9f, 3, 0}, ByMaterial{1, 0.1f, 0, 0}}) {
    const double most = volume.Most(coefficients);
    double reached = 0;
    for (int i = 0; i < 50000; ++i) {
      const Vec3 p{random.Uniform(-75, 75), random.Uniform(-75, 75), random.Uniform(-75, 75)};
      reached = std::max(reached, SumOf(volume.At(p) * coefficients));
    }
    EXPECT_LE(reached, most);
    EXPECT_GT(reached, 0.95 * most);
  }
}

TEST(ScatterVolume, HasAChecksumOfItsObject) {
  const auto cylinder = phantom::MakePhantom("cylinder", 100, kMu).value();
  const auto smaller = phantom::MakePhantom("cylinder", 99.9, kMu).value();
  const auto other = phantom::MakePhantom("edge", 100, kMu).value();
  EXPECT_EQ(Volume(*cylinder, 1).Checksum(), Volume(*cylinder, 3).Checksum());
  EXPECT_NE(Volume(*cylinder).Checksum(), Volume(*smaller).Checksum());
  EXPECT_NE(Volume(*cylinder).Checksum(), Volume(*other).Checksum());
}

}  // namespace
}  // namespace isocenter::physics
