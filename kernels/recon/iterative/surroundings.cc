#include "kernels/recon/iterative/surroundings.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/field_of_view.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::recon {
namespace {

absl::StatusOr<double> NearestSource(const Trajectory& trajectory) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const ProjectionMatrix& matrix : trajectory) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
    nearest = std::min(nearest, Norm(camera.source));
  }
  return nearest;
}

}  // namespace

absl::StatusOr<VolumeGrid> SurroundingGrid(const VolumeGrid& grid, int factor,
                                           const Trajectory& trajectory, const Detector& detector) {
  ISO_ASSIGN_OR_RETURN(const FieldOfView field, ComputeFieldOfView(trajectory, detector));
  ISO_ASSIGN_OR_RETURN(const double source, NearestSource(trajectory));
  const int counts[] = {grid.nx, grid.ny, grid.nz};
  const double spacings[] = {grid.spacing.x, grid.spacing.y, grid.spacing.z};
  const Vec3 middle =
      grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0.5 * (grid.nz - 1));
  int added[3], total[3];
  for (int axis = 0; axis < 3; ++axis) {
    const Vec3 unit{grid.direction[axis], grid.direction[3 + axis], grid.direction[6 + axis]};
    const double half = 0.5 * counts[axis] * spacings[axis];
    const double seen =
        std::hypot(unit.x, unit.y) * field.radius_mm + std::abs(unit.z) * field.half_height_mm;
    const double reach = std::min(std::max(2 * half, std::abs(Dot(unit, middle)) + seen),
                                  std::max(half, 0.5 * source));
    const double coarse = factor * spacings[axis];
    added[axis] = static_cast<int>(std::ceil((reach - half) / coarse));
    const int inside = (counts[axis] + factor - 1) / factor;
    total[axis] = inside + 2 * added[axis];
  }
  VolumeGrid around = grid;
  around.nx = total[0], around.ny = total[1], around.nz = total[2];
  around.spacing = factor * grid.spacing;
  // From the border of the first voxel of `grid` outwards, then in by half a coarse voxel.
  const auto first = [&](int axis) { return -0.5 + factor * (0.5 - added[axis]); };
  around.origin = grid.VoxelToWorld(first(0), first(1), first(2));
  ISO_RETURN_IF_ERROR(ValidateGrid(around));
  return around;
}

VolumeGrid GridWithSurroundings(const RefinementPlan& plan) {
  VolumeGrid grid = plan.grid;
  bool found = false;
  for (const Piece& piece : plan.pieces) {
    if (!piece.surroundings) continue;
    if (found) {
      grid.nz += piece.grid.nz;
    } else {
      grid = piece.grid;
    }
    found = true;
  }
  return grid;
}

std::optional<BeyondGrid::Surrounded> SurroundedGrid(const RefinementPlan& plan) {
  const int factor = plan.settings.surroundings_factor;
  if (factor == 0) return std::nullopt;
  return BeyondGrid::Surrounded{plan.grid, factor};
}

std::vector<float> OutsideMask(const VolumeGrid& surroundings, const VolumeGrid& inner) {
  const auto within = [](double index, int count) { return index > -0.5 && index < count - 0.5; };
  std::vector<float> mask;
  mask.reserve(surroundings.voxels());
  for (int k = 0; k < surroundings.nz; ++k) {
    for (int j = 0; j < surroundings.ny; ++j) {
      for (int i = 0; i < surroundings.nx; ++i) {
        const Vec3 at = inner.WorldToVoxel(surroundings.VoxelToWorld(i, j, k));
        const bool inside =
            within(at.x, inner.nx) && within(at.y, inner.ny) && within(at.z, inner.nz);
        mask.push_back(inside ? 0.f : 1.f);
      }
    }
  }
  return mask;
}

}  // namespace isocenter::recon
