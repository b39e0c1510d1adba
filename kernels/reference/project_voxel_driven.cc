#include <cmath>

#include "kernels/reference/footprint_mass.h"
#include "kernels/reference/system_matrix.h"

namespace isocenter::reference {
namespace {

// Spreads `mass` bilinearly over the four pixels around a position.
void Splat(const Projected& position, double mass, const Shape3& detector, int64_t voxel,
           Entry entry) {
  const double u = position.u(), v = position.v();
  if (!(u > -1 && u < static_cast<double>(detector.fast) && v > -1 &&
        v < static_cast<double>(detector.middle))) {
    return;
  }
  const double u0 = std::floor(u), v0 = std::floor(v);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const auto row = static_cast<int64_t>(v0) + i, column = static_cast<int64_t>(u0) + j;
      if (row < 0 || row >= detector.middle || column < 0 || column >= detector.fast) continue;
      const double weight = (i == 0 ? 1 - (v - v0) : v - v0) * (j == 0 ? 1 - (u - u0) : u - u0);
      entry(row * detector.fast + column, voxel, weight * mass);
    }
  }
}

// Each voxel cut into `parts` along each axis.
void Entries(int parts, const ProjectionMatrix& matrix, const VolumeGrid& grid,
             const Shape3& detector, Entry entry) {
  const FootprintMass mass(matrix);
  const double volume = grid.spacing.x * grid.spacing.y * grid.spacing.z / (parts * parts * parts);
  const auto offset = [parts](int part) { return (part + 0.5) / parts - 0.5; };
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const int64_t voxel = (int64_t{k} * grid.ny + j) * grid.nx + i;
        for (int part = 0; part < parts * parts * parts; ++part) {
          const Vec3 centre =
              grid.VoxelToWorld(i + offset(part % parts), j + offset(part / parts % parts),
                                k + offset(part / (parts * parts)));
          const Projected position = matrix.Project(centre);
          if (!(position.w > 0)) continue;
          Splat(position, mass(volume, centre, position.w), detector, voxel, entry);
        }
      }
    }
  }
}

}  // namespace

void VoxelDrivenEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid,
                        const Shape3& detector, Entry entry) {
  Entries(1, matrix, grid, detector, entry);
}

void VoxelDrivenSplitEntries(const ProjectionMatrix& matrix, const VolumeGrid& grid,
                             const Shape3& detector, Entry entry) {
  Entries(2, matrix, grid, detector, entry);
}

}  // namespace isocenter::reference
