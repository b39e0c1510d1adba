#include <cmath>

#include "kernels/reference/rays.h"
#include "kernels/reference/system_matrix.h"

namespace isocenter::reference {
namespace {

// The four voxels around (b, c) in the plane, each with its bilinear weight; those beyond the grid
// are left out.
template <class Visit>
void Bilinear(double b, double c, int64_t nb, int64_t nc, Visit visit) {
  if (!(b > -1 && b < static_cast<double>(nb) && c > -1 && c < static_cast<double>(nc))) return;
  const double b0 = std::floor(b), c0 = std::floor(c);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const auto at_b = static_cast<int64_t>(b0) + i, at_c = static_cast<int64_t>(c0) + j;
      if (at_b < 0 || at_b >= nb || at_c < 0 || at_c >= nc) continue;
      visit(at_b, at_c, (i == 0 ? 1 - (b - b0) : b - b0) * (j == 0 ? 1 - (c - c0) : c - c0));
    }
  }
}

}  // namespace

void JosephEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid, const Shape3& detector,
                   Entry entry) {
  const Rays rays(matrix, grid);
  const int64_t n[] = {grid.nx, grid.ny, grid.nz};
  const int64_t stride[] = {1, n[0], n[0] * n[1]};
  for (int64_t v = 0; v < detector.middle; ++v) {
    for (int64_t u = 0; u < detector.fast; ++u) {
      const Ray ray = rays.of(static_cast<double>(u), static_cast<double>(v));
      int a = 0;
      for (int axis = 1; axis < 3; ++axis) {
        if (std::abs(ray.direction[axis]) > std::abs(ray.direction[a])) a = axis;
      }
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      const double length = ray.millimetres / std::abs(ray.direction[a]);
      for (int64_t plane = 0; plane < n[a]; ++plane) {
        const double w = (static_cast<double>(plane) - ray.source[a]) / ray.direction[a];
        if (!(w > 0)) continue;
        Bilinear(ray.at(b, w), ray.at(c, w), n[b], n[c],
                 [&](int64_t at_b, int64_t at_c, double weight) {
                   entry(v * detector.fast + u,
                         plane * stride[a] + at_b * stride[b] + at_c * stride[c], weight * length);
                 });
      }
    }
  }
}

}  // namespace isocenter::reference
