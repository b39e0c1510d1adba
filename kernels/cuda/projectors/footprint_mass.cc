#include "kernels/cuda/projectors/footprint_mass.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isocenter::cuda {
namespace {

double Determinant(const ProjectionMatrix& p) {
  return p(0, 0) * (p(1, 1) * p(2, 2) - p(1, 2) * p(2, 1)) -
         p(0, 1) * (p(1, 0) * p(2, 2) - p(1, 2) * p(2, 0)) +
         p(0, 2) * (p(1, 0) * p(2, 1) - p(1, 1) * p(2, 0));
}

// M⁻¹ of minus the last column: where u·w, v·w and w are zero.
Vec3 SourceOf(const ProjectionMatrix& world) {
  const auto inverse = InverseLeft(world);
  double source[3] = {};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) source[i] -= inverse[3 * i + j] * world(j, 3);
  }
  return {source[0], source[1], source[2]};
}

// Of one piece of a voxel, times |det M|.
double PieceVolume(const ProjectionMatrix& world, const VolumeGrid& grid, int parts) {
  const Vec3& mm = grid.spacing;
  return mm.x * mm.y * mm.z / (parts * parts * parts) * std::abs(Determinant(world));
}

}  // namespace

MassForm MassFormOf(const ProjectionMatrix& world, const VolumeGrid& grid, int parts) {
  const auto inverse = InverseLeft(world);
  const double scale = PieceVolume(world, grid, parts);
  const auto product = [&](int i, int j) {
    double sum = 0;
    for (int row = 0; row < 3; ++row) sum += inverse[3 * row + i] * inverse[3 * row + j];
    return scale * scale * sum;
  };
  return {product(0, 0),     2 * product(0, 1), product(1, 1),
          2 * product(0, 2), 2 * product(1, 2), product(2, 2)};
}

std::vector<ProjectionMatrix> MatricesOfPieces(const ProjectionMatrix& world,
                                               const VolumeGrid& grid, int parts) {
  const ProjectionMatrix centre = ToVoxelIndices(world, grid);
  const auto offset = [parts](int part) { return (part + 0.5) / parts - 0.5; };
  std::vector<ProjectionMatrix> matrices;
  for (int piece = 0; piece < parts * parts * parts; ++piece) {
    ProjectionMatrix matrix = centre;
    const double at[] = {offset(piece % parts), offset(piece / parts % parts),
                         offset(piece / (parts * parts))};
    for (int row = 0; row < 3; ++row) {
      for (int axis = 0; axis < 3; ++axis) matrix.m[4 * row + 3] += centre(row, axis) * at[axis];
    }
    matrices.push_back(matrix);
  }
  return matrices;
}

MassBound BoundMass(const ProjectionMatrix& world, const VolumeGrid& grid, int parts) {
  const Vec3 source = SourceOf(world);
  MassBound bound{std::numeric_limits<double>::infinity(), 0, 0};
  double distance = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const auto end = [&](int axis, int count) { return (corner >> axis & 1) ? count - 0.5 : -0.5; };
    const Vec3 x = grid.VoxelToWorld(end(0, grid.nx), end(1, grid.ny), end(2, grid.nz));
    const double w = world.Project(x).w;
    bound.least_depth = std::min(bound.least_depth, w);
    bound.most_depth = std::max(bound.most_depth, w);
    distance = std::max(distance, Norm(x - source));
  }
  const double w = bound.least_depth;
  bound.largest = w > 0 ? PieceVolume(world, grid, parts) * distance / (w * w * w)
                        : std::numeric_limits<double>::infinity();
  return bound;
}

double MostWeightPerPixel(const ProjectionMatrix& indexed, double most_depth,
                          const int (&counts)[3], int columns, int rows) {
  double least = double(counts[0]) * counts[1] * counts[2];
  // In a plane of voxels, two that count in the same pixel are less than 2 pixels apart along u and
  // v. With d their difference along the plane's axes b and c, G·d = w·(Δu, Δv) for one's depth w
  // and the other's position in G = (m0 - u·m2, m1 - v·m2), each at b and c. G is linear in the
  // position, and its determinant is, too.
  for (int axis = 0; axis < 3; ++axis) {
    const int b = (axis + 1) % 3, c = (axis + 2) % 3;
    double determinants[4], most_b = 0, most_c = 0;
    for (int corner = 0; corner < 4; ++corner) {
      const double u = (corner & 1) ? columns : -1, v = (corner & 2) ? rows : -1;
      const double ub = indexed(0, b) - u * indexed(2, b), uc = indexed(0, c) - u * indexed(2, c);
      const double vb = indexed(1, b) - v * indexed(2, b), vc = indexed(1, c) - v * indexed(2, c);
      determinants[corner] = ub * vc - uc * vb;
      most_b = std::max(most_b, std::abs(vc) + std::abs(uc));
      most_c = std::max(most_c, std::abs(vb) + std::abs(ub));
    }
    const auto [low, high] = std::minmax_element(determinants, determinants + 4);
    const double determinant = *low > 0 ? *low : -*high;  // the least magnitude
    if (!(determinant > 0)) continue;                     // some ray lies in a plane
    const auto extent = [&](double most, int count) {
      return std::min<double>(count, std::floor(2 * most_depth * most / determinant) + 1);
    };
    least = std::min(least, counts[axis] * extent(most_b, counts[b]) * extent(most_c, counts[c]));
  }
  return least;
}

}  // namespace isocenter::cuda
