// The scatter that a correction computes: against an integral for one interaction, and against the
// simulator's Monte Carlo, of which it has nothing, for all of them.
#include "kernels/scatter/photons.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/physics/scatter/simulation.h"
#include "kernels/physics/tissue.h"
#include "kernels/scatter/plane.h"

namespace isocenter::scatter {
namespace {

constexpr Detector kDetector{.columns = 100, .rows = 80, .pitch_u_mm = 3, .pitch_v_mm = 3};
constexpr int kColumns = 10, kRows = 8;
const Beam kBeam{.kev = {60}, .share = {1}, .effective_kev = 60};

ProjectionMatrix Matrix() {
  return MakeCircularOrbit(
             {.views = 1, .source_to_isocenter_mm = 750, .source_to_detector_mm = 1200}, kDetector)
      .value()[0];
}

ScatterImage Scattered(const Object& object, int64_t photons, int threads = 2, uint64_t seed = 1) {
  static const CrossSections sections;
  ThreadPool pool(threads);
  return FollowPhotons(object, kBeam, sections, Matrix(), kDetector,
                       {.photons = photons, .columns = kColumns, .rows = kRows, .seed = seed}, pool)
      .value();
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// A grain of water in the beam: what arrives is one differential cross section and two distances.
TEST(FollowPhotons, AGrainScattersAsItsCrossSectionSays) {
  const CrossSections sections;
  constexpr double kEdge = 12, kDensity = 0.05;
  const Vec3 place = {20, 30, -10};
  VolumeGrid grid = CenteredGrid(1, 1, 1, {kEdge, kEdge, kEdge});
  grid.origin = place;
  const Object grain(grid, {{static_cast<float>(kDensity), 0.f}});
  const ScatterImage image = Scattered(grain, 8'000'000);
  const Plane plane = Plane::Of(Matrix(), kDetector).value();
  const Vec3 in = place - plane.source();
  const double grams = kDensity * std::pow(kEdge / 10, 3);
  double sum = 0, expected_sum = 0;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const Vec3 point = plane.Point((column + 0.5) / kColumns, (row + 0.5) / kRows);
      const Vec3 out = point - place;
      const double cosine = Dot(in, out) / (Norm(in) * Norm(out));
      const auto d = sections.Towards(60, cosine);
      // cm² of what it scatters by, through a mm² of the beam at its place.
      const double expected = 100 * grams * (d.coherent[kWater] + d.incoherent[kWater]) /
                              Dot(in, in) * plane.Seen(point, place) /
                              plane.Seen(point, plane.source());
      sum += image.first[row * kColumns + column];
      expected_sum += expected;
      // Some are small and seen by few photons.
      EXPECT_NEAR(image.first[row * kColumns + column], expected, 0.25 * expected);
    }
  }
  // The grain attenuates its own scatter by a few percent.
  EXPECT_NEAR(sum / expected_sum, 1 - 0.0206 * kDensity * kEdge, 0.02);
  EXPECT_LT(Mean(image.all) / Mean(image.first), 1.05);
}

// All orders of a cylinder of water and a rod of bone; the simulator knows the same cells by other
// tables, another way to fly and another book-keeping.
TEST(FollowPhotons, AgreesWithTheSimulatorsMonteCarlo) {
  constexpr double kMu = 0.0206, kRadius = 80, kHalfLength = 60;
  using phantom::Body;
  const phantom::CompositePhantom cylinder(
      {{Body(Body::Shape::kCylinder, {}, {kRadius, kRadius, kHalfLength}), kMu}},
      phantom::CompositePhantom::Overlap::kReplace);
  ThreadPool pool(2);
  const physics::Spectrum spectrum{.kev = {60}, .photons = {1}};
  const auto simulation =
      physics::ScatterSimulation::Make(
          spectrum, 0.6, physics::TissueMaterials(),
          physics::ScatterVolume(cylinder, kMu, physics::TissueMap(60, true), pool), pool)
          .value();
  const auto planted =
      simulation
          .View(Matrix(), kDetector, {.photons = 400'000, .columns = kColumns, .rows = kRows}, pool)
          .value();
  constexpr int kCells = 40;
  const double edge = 2 * kRadius / kCells;
  const VolumeGrid grid = CenteredGrid(kCells, kCells, 30, {edge, edge, 4});
  std::vector<Object::Cell> cells(grid.voxels());
  for (int64_t i = 0; i < grid.voxels(); ++i) {
    const Vec3 p = grid.VoxelToWorld(static_cast<double>(i % kCells),
                                     static_cast<double>(i / kCells % kCells), 0);
    cells[i] = {std::hypot(p.x, p.y) <= kRadius ? 1.f : 0.f, 0.f};
  }
  const Object object(grid, std::move(cells));
  const ScatterImage image = Scattered(object, 200'000);
  double expected = 0;
  for (const auto& reading : planted.readings) expected += reading.signal;
  expected /= static_cast<double>(planted.readings.size());
  EXPECT_NEAR(Mean(image.all) / expected, 1, 0.03);
  double squares = 0;
  for (size_t i = 0; i < planted.readings.size(); ++i) {
    squares += std::pow(image.all[i] - planted.readings[i].signal, 2);
  }
  EXPECT_LT(std::sqrt(squares / static_cast<double>(planted.readings.size())), 0.07 * expected);
  // A third to two thirds of what leaves such a cylinder has scattered more than once.
  EXPECT_GT(Mean(image.first) / Mean(image.all), 0.4);
  EXPECT_LT(Mean(image.first) / Mean(image.all), 0.8);
}

TEST(FollowPhotons, IsTheSameForAnyNumberOfThreads) {
  const Object water(CenteredGrid(4, 4, 4, {20, 20, 20}), std::vector<Object::Cell>(64, {1, 0}));
  const ScatterImage one = Scattered(water, 5000, 1), three = Scattered(water, 5000, 3);
  EXPECT_EQ(one.all, three.all);
  EXPECT_EQ(one.first, three.first);
  EXPECT_NE(one.all, Scattered(water, 5000, 1, 2).all);
}

TEST(FollowPhotons, NothingScattersInAirAndStopsWhenAsked) {
  const Object air(CenteredGrid(2, 2, 2, {20, 20, 20}), std::vector<Object::Cell>(8));
  EXPECT_EQ(Mean(Scattered(air, 100).all), 0);
  const Object water(CenteredGrid(2, 2, 2, {20, 20, 20}), std::vector<Object::Cell>(8, {1, 0}));
  const CrossSections sections;
  ThreadPool pool(1);
  const std::atomic<bool> stop = true;
  const auto stopped = FollowPhotons(water, kBeam, sections, Matrix(), kDetector,
                                     {.photons = 100, .columns = 2, .rows = 2}, pool, &stop);
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace isocenter::scatter
