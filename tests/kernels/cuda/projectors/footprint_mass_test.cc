#include "kernels/cuda/projectors/footprint_mass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/kernels/geometry/random_numbers.h"

namespace isocenter::cuda {
namespace {

constexpr int kColumns = 40, kRows = 30;

// A system turned any way, 60 to 120 mm from the isocentre, with pixels of 0.3 to 1 mm there.
Camera RandomCamera(RandomNumbers& random) {
  const auto unit = [](Vec3 v) { return (1 / Norm(v)) * v; };
  Camera camera;
  camera.source = random.Uniform(60, 120) * unit(random.Vector(1));
  camera.depth_axis = unit((-1 / Norm(camera.source)) * camera.source + random.Vector(0.1));
  camera.u_axis = unit(Cross(random.Vector(1), camera.depth_axis));
  camera.v_axis = Cross(camera.depth_axis, camera.u_axis);
  camera.focal_u_px = random.Uniform(100, 250);
  camera.focal_v_px = random.Uniform(100, 250);
  camera.principal_u_px = random.Uniform(10, 30);
  camera.principal_v_px = random.Uniform(5, 25);
  return camera;
}

VolumeGrid RandomGrid(RandomNumbers& random) {
  const auto mm = [&] { return random.Uniform(0.4, 2); };
  const double x = mm(), y = mm();
  return CenteredGrid(9, 11, 7, {x, y, mm()});
}

template <class Visit>
void ForEachPiece(const VolumeGrid& grid, int parts, Visit visit) {
  const auto offset = [&](int i) { return (i + 0.5) / parts - 0.5; };
  for (int k = 0; k < grid.nz * parts; ++k) {
    for (int j = 0; j < grid.ny * parts; ++j) {
      for (int i = 0; i < grid.nx * parts; ++i) {
        const double x = i / parts + offset(i % parts), y = j / parts + offset(j % parts);
        visit(Vec3{x, y, k / parts + offset(k % parts)});
      }
    }
  }
}

// The contract's c_j.
double Mass(const Camera& camera, const ProjectionMatrix& p, const VolumeGrid& grid, int parts,
            Vec3 x) {
  const Vec3 m[] = {
      {p(0, 0), p(0, 1), p(0, 2)}, {p(1, 0), p(1, 1), p(1, 2)}, {p(2, 0), p(2, 1), p(2, 2)}};
  const double volume = grid.spacing.x * grid.spacing.y * grid.spacing.z / std::pow(parts, 3);
  return volume * std::abs(Dot(m[0], Cross(m[1], m[2]))) * Norm(x - camera.source) /
         std::pow(p.Project(x).w, 3);
}

TEST(MassFormTest, IsTheContractsMassAndStaysBelowItsBound) {
  RandomNumbers random(1);
  for (int round = 0; round < 50; ++round) {
    const Camera camera = RandomCamera(random);
    const ProjectionMatrix matrix = Compose(camera);
    const VolumeGrid grid = RandomGrid(random);
    for (const int parts : {1, 2}) {
      const MassForm q = MassFormOf(matrix, grid, parts);
      const MassBound bound = BoundMass(matrix, grid, parts);
      double largest = 0;
      ForEachPiece(grid, parts, [&](Vec3 index) {
        const Vec3 x = grid.VoxelToWorld(index.x, index.y, index.z);
        const Projected at = matrix.Project(x);
        const double u = at.u(), v = at.v();
        const double square =
            q.uu * u * u + q.uv * u * v + q.vv * v * v + q.u * u + q.v * v + q.one;
        const double expected = Mass(camera, matrix, grid, parts, x);
        EXPECT_NEAR(std::sqrt(square) / (at.w * at.w), expected, 1e-9 * expected);
        EXPECT_GE(at.w, bound.least_depth);
        EXPECT_LE(at.w, bound.most_depth);
        largest = std::max(largest, expected);
      });
      EXPECT_LE(largest, bound.largest);
      EXPECT_GT(largest, bound.largest / 2);  // what fixed-point numbers lose of their range
    }
  }
}

TEST(MassFormTest, BoundIsInfiniteAroundTheSource) {
  const ProjectionMatrix matrix = {{10, 0, 0, 20, 0, 10, 0, 15, 0, 0, 0.1, 1}};
  EXPECT_TRUE(std::isinf(BoundMass(matrix, CenteredGrid(5, 5, 30, {1, 1, 1}), 1).largest));
  EXPECT_TRUE(std::isfinite(BoundMass(matrix, CenteredGrid(5, 5, 15, {1, 1, 1}), 1).largest));
}

TEST(MatricesOfPiecesTest, SeeTheMiddlesOfPieces) {
  RandomNumbers random(2);
  const ProjectionMatrix matrix = Compose(RandomCamera(random));
  const VolumeGrid grid = RandomGrid(random);
  EXPECT_EQ(MatricesOfPieces(matrix, grid, 1), std::vector{ToVoxelIndices(matrix, grid)});
  const auto pieces = MatricesOfPieces(matrix, grid, 2);
  ASSERT_EQ(pieces.size(), 8u);
  for (int piece = 0; piece < 8; ++piece) {
    const auto offset = [&](int axis) { return (piece >> axis & 1) ? 0.25 : -0.25; };
    const Projected expected =
        matrix.Project(grid.VoxelToWorld(3 + offset(0), 5 + offset(1), 2 + offset(2)));
    EXPECT_NEAR(pieces[piece].Project({3, 5, 2}).u(), expected.u(), 1e-9);
    EXPECT_NEAR(pieces[piece].Project({3, 5, 2}).v(), expected.v(), 1e-9);
  }
}

// The bound holds for each pixel, and is not so far from what there is that precision is lost.
TEST(MostWeightPerPixelTest, IsAnUpperBound) {
  RandomNumbers random(3);
  double tightest = 0;
  for (int round = 0; round < 200; ++round) {
    const ProjectionMatrix matrix = Compose(RandomCamera(random));
    const VolumeGrid grid = RandomGrid(random);
    const int counts[3] = {grid.nx, grid.ny, grid.nz};
    const double bound =
        MostWeightPerPixel(ToVoxelIndices(matrix, grid), BoundMass(matrix, grid, 1).most_depth,
                           counts, kColumns, kRows);
    EXPECT_LE(bound, grid.voxels());
    std::map<std::pair<int, int>, double> sums;
    ForEachPiece(grid, 1, [&](Vec3 index) {
      const Projected at = matrix.Project(grid.VoxelToWorld(index.x, index.y, index.z));
      const double column = std::floor(at.u()), row = std::floor(at.v());
      for (int corner = 0; corner < 4; ++corner) {
        const double u = column + (corner & 1), v = row + (corner >> 1);
        if (u < 0 || u >= kColumns || v < 0 || v >= kRows) continue;
        sums[{u, v}] += (1 - std::abs(at.u() - u)) * (1 - std::abs(at.v() - v));
      }
    });
    double most = 0;
    for (const auto& [pixel, sum] : sums) most = std::max(most, sum);
    EXPECT_LE(most, bound) << "round " << round;
    tightest = std::max(tightest, most / bound);
  }
  EXPECT_GT(tightest, 0.1);
}

}  // namespace
}  // namespace isocenter::cuda
