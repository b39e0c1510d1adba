#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reference/footprint_mass.h"
#include "kernels/reference/system_matrix.h"

namespace isocenter::reference {
namespace {

// Height 1 between u1 and u2, falling to 0 at u0 and u3.
struct Trapezoid {
  std::array<double, 4> u;

  double area() const { return 0.5 * ((u[3] - u[0]) + (u[2] - u[1])); }
  // Its integral up to t.
  double Below(double t) const {
    if (t <= u[0]) return 0;
    if (t < u[1]) return 0.5 * (t - u[0]) * (t - u[0]) / (u[1] - u[0]);
    if (t <= u[2]) return 0.5 * (u[1] - u[0]) + (t - u[1]);
    if (t < u[3]) return area() - 0.5 * (u[3] - t) * (u[3] - t) / (u[3] - u[2]);
    return area();
  }
};

struct Footprint {
  Trapezoid across;
  double v0 = 0, v1 = 0;
};

// Pixels of a row of n that [low, high] touches.
struct Pixels {
  int64_t first = 0, end = 0;
};
Pixels Touched(double low, double high, int64_t n) {
  const auto limit = static_cast<double>(n);
  return {static_cast<int64_t>(std::clamp(std::floor(low + 0.5), 0.0, limit)),
          static_cast<int64_t>(std::clamp(std::floor(high + 0.5) + 1, 0.0, limit))};
}

// False where the voxel has none: part of it is not in front of the source.
bool FootprintOf(const ProjectionMatrix& matrix, const VolumeGrid& grid, const Indices& voxel,
                 int axial, Footprint& footprint) {
  const auto project = [&](const Indices& at) {
    return matrix.Project(grid.VoxelToWorld(at[0], at[1], at[2]));
  };
  const int b = (axial + 1) % 3, c = (axial + 2) % 3;
  for (int corner = 0; corner < 4; ++corner) {
    Indices at = voxel;
    at[b] += corner % 2 == 0 ? -0.5 : 0.5;
    at[c] += corner / 2 == 0 ? -0.5 : 0.5;
    const Projected seen = project(at);
    if (!(seen.w > 0)) return false;
    footprint.across.u[corner] = seen.u();
  }
  std::sort(footprint.across.u.begin(), footprint.across.u.end());
  Indices low = voxel, high = voxel;
  low[axial] -= 0.5;
  high[axial] += 0.5;
  const Projected first = project(low), last = project(high);
  if (!(first.w > 0) || !(last.w > 0)) return false;
  footprint.v0 = std::min(first.v(), last.v());
  footprint.v1 = std::max(first.v(), last.v());
  return true;
}

}  // namespace

void SeparableFootprintEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid,
                               const Shape3& detector, Entry entry) {
  const FootprintMass mass(matrix);
  const double volume = grid.spacing.x * grid.spacing.y * grid.spacing.z;
  const int axial = ops::AxialAxis(matrix, grid);
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        Footprint footprint;
        const Indices at{static_cast<double>(i), static_cast<double>(j), static_cast<double>(k)};
        if (!FootprintOf(matrix, grid, at, axial, footprint)) continue;
        const Trapezoid& across = footprint.across;
        const double area = across.area() * (footprint.v1 - footprint.v0);
        if (!(area > 0)) continue;
        const Vec3 centre = grid.VoxelToWorld(i, j, k);
        const double height = mass(volume, centre, matrix.Project(centre).w) / area;
        const Pixels columns = Touched(across.u[0], across.u[3], detector.fast);
        const Pixels rows = Touched(footprint.v0, footprint.v1, detector.middle);
        for (int64_t v = rows.first; v < rows.end; ++v) {
          const auto row = static_cast<double>(v);
          const double along =
              std::min(footprint.v1, row + 0.5) - std::max(footprint.v0, row - 0.5);
          if (!(along > 0)) continue;
          for (int64_t u = columns.first; u < columns.end; ++u) {
            const auto column = static_cast<double>(u);
            const double share = across.Below(column + 0.5) - across.Below(column - 0.5);
            entry(v * detector.fast + u, (int64_t{k} * grid.ny + j) * grid.nx + i,
                  height * share * along);
          }
        }
      }
    }
  }
}

}  // namespace isocenter::reference
