// An earlier volume of what a scan shows, as projectors take it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::recon {

struct ReferenceVolume {
  /// In axes of the scan's world, with its middle at the isocentre: a search turns it about that.
  VolumeGrid grid;
  std::vector<float> mu;  // 1/mm, [z][y][x], at least 0
  Vec3 middle_mm;         // where the middle was given
};

/// Voxels in HU, of which as many are one as go into `voxel_mm`; those that are not finite are air.
/// `grid` in axes of the scan's world, wherever its origin is.
/// Errors: those of ValidateGrid; INVALID_ARGUMENT (fewer than 8 voxels along an axis, voxels of
/// another number, nothing denser than air).
absl::StatusOr<ReferenceVolume> MakeReference(const VolumeGrid& grid,
                                              HostView3<const float> hounsfield,
                                              double mu_water_per_mm, double voxel_mm);

/// The same with coarser voxels: as many together as go into `voxel_mm`, at least one.
ReferenceVolume Coarser(const ReferenceVolume& reference, double voxel_mm);

}  // namespace isocenter::recon
