#include "kernels/geometry/quarter_turns.h"

#include <cmath>

namespace isocenter {

bool QuarterTurnsAreAlike(const FanBeamGeometry& geometry, int64_t views, const VolumeGrid& grid) {
  if (!geometry.FullScan() || views != geometry.views || views % 4 != 0) return false;
  if (grid.nx != grid.ny || grid.spacing.x != grid.spacing.y) return false;
  const Vec3 middle = grid.VoxelToWorld(0.5 * (grid.nx - 1), 0.5 * (grid.ny - 1), 0);
  return std::hypot(middle.x, middle.y) <= 1e-7 * grid.spacing.x;
}

}  // namespace isocenter
