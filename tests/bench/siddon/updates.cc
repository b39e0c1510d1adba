#include "tests/bench/siddon/updates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace isocenter::bench {
namespace {

struct Line {
  double source[3], direction[3];  // voxel indices; w along it
};

// Faces strictly between the grid's two outer ones that are crossed in first < w < last.
int64_t FacesBetween(double source, double direction, int n, double first, double last) {
  if (direction == 0) return 0;
  const double a = source + first * direction, b = source + last * direction;
  // Face i is at i - 0.5, i from 1 to n - 1.
  const double low = std::floor(std::min(a, b) + 0.5) + 1;
  const double high = std::ceil(std::max(a, b) + 0.5) - 1;
  return std::max<int64_t>(0, static_cast<int64_t>(std::min(high, n - 1.0)) -
                                  static_cast<int64_t>(std::max(low, 1.0)) + 1);
}

int64_t VoxelsOn(const Line& line, const int (&n)[3]) {
  double first = 0, last = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    const double s = line.source[axis], d = line.direction[axis];
    if (d == 0) {
      if (s < -0.5 || s > n[axis] - 0.5) return 0;
      continue;
    }
    const double low = (-0.5 - s) / d, high = (n[axis] - 0.5 - s) / d;
    first = std::max(first, std::min(low, high));
    last = std::min(last, std::max(low, high));
  }
  if (!(first < last)) return 0;
  int64_t faces = 0;
  for (int axis = 0; axis < 3; ++axis) {
    faces += FacesBetween(line.source[axis], line.direction[axis], n[axis], first, last);
  }
  return faces + 1;
}

int64_t VoxelsOfView(const ProjectionMatrix& world, const VolumeGrid& grid,
                     const Detector& detector) {
  const ProjectionMatrix indexed = ToVoxelIndices(world, grid);
  const std::array<double, 9> inverse = InverseLeft(indexed);
  const int n[] = {grid.nx, grid.ny, grid.nz};
  Line line;
  for (int axis = 0; axis < 3; ++axis) {
    const double* row = &inverse[3 * axis];
    line.source[axis] = -(row[0] * indexed(0, 3) + row[1] * indexed(1, 3) + row[2] * indexed(2, 3));
  }
  int64_t voxels = 0;
  for (int v = 0; v < detector.rows; ++v) {
    for (int u = 0; u < detector.columns; ++u) {
      for (int axis = 0; axis < 3; ++axis) {
        const double* row = &inverse[3 * axis];
        line.direction[axis] = row[0] * u + row[1] * v + row[2];
      }
      voxels += VoxelsOn(line, n);
    }
  }
  return voxels;
}

}  // namespace

int64_t CountSiddonUpdates(std::span<const ProjectionMatrix> views, const VolumeGrid& grid,
                           const Detector& detector, ThreadPool& pool) {
  std::vector<int64_t> voxels(views.size());
  pool.ParallelFor(static_cast<int64_t>(views.size()), [&](int64_t view, int) {
    voxels[view] = VoxelsOfView(views[view], grid, detector);
  });
  int64_t all = 0;
  for (const int64_t some : voxels) all += some;
  return all;
}

}  // namespace isocenter::bench
