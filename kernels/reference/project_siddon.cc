#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/rays.h"
#include "kernels/reference/system_matrix.h"

namespace isocenter::reference {
namespace {

// The values of w > 0 at which a ray enters the grid's box, crosses a face between voxels, and
// leaves the box, in order. Empty where it misses.
void Crossings(const Ray& ray, const int64_t (&n)[3], std::vector<double>& crossings) {
  crossings.clear();
  double enter = 0, leave = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    const double low = -0.5, high = static_cast<double>(n[axis]) - 0.5;
    if (ray.direction[axis] == 0) {
      if (ray.source[axis] < low || ray.source[axis] > high) return;
      continue;
    }
    const double first = (low - ray.source[axis]) / ray.direction[axis];
    const double last = (high - ray.source[axis]) / ray.direction[axis];
    enter = std::max(enter, std::min(first, last));
    leave = std::min(leave, std::max(first, last));
  }
  if (!(enter < leave)) return;
  crossings.push_back(enter);
  crossings.push_back(leave);
  for (int axis = 0; axis < 3; ++axis) {
    if (ray.direction[axis] == 0) continue;
    for (int64_t face = 1; face < n[axis]; ++face) {
      const double w = (static_cast<double>(face) - 0.5 - ray.source[axis]) / ray.direction[axis];
      if (w > enter && w < leave) crossings.push_back(w);
    }
  }
  std::sort(crossings.begin(), crossings.end());
}

}  // namespace

void SiddonEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid, const Shape3& detector,
                   Entry entry) {
  const Rays rays(matrix, grid);
  const int64_t n[] = {grid.nx, grid.ny, grid.nz};
  std::vector<double> crossings;
  for (int64_t v = 0; v < detector.middle; ++v) {
    for (int64_t u = 0; u < detector.fast; ++u) {
      const Ray ray = rays.of(static_cast<double>(u), static_cast<double>(v));
      Crossings(ray, n, crossings);
      for (size_t i = 1; i < crossings.size(); ++i) {
        // Between two crossings the ray is in the voxel of the middle.
        const double middle = 0.5 * (crossings[i - 1] + crossings[i]);
        int64_t at[3];
        for (int axis = 0; axis < 3; ++axis) {
          at[axis] = std::clamp<int64_t>(std::llround(ray.at(axis, middle)), 0, n[axis] - 1);
        }
        entry(v * detector.fast + u, (at[2] * n[1] + at[1]) * n[0] + at[0],
              (crossings[i] - crossings[i - 1]) * ray.millimetres);
      }
    }
  }
}

}  // namespace isocenter::reference
