// An earlier volume of what a scan shows, as projectors take it.
#pragma once

#include <cstdint>
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

/// Voxels that become one.
struct BlockSize {
  int x = 1, y = 1, z = 1;
};

/// Makes a reference of voxels in HU, of which as many are one as go into `voxel_mm`; those that
/// are not finite are air. The volume comes some slices at a time, so that all of it need not be in
/// memory.
class ReferenceMaker {
 public:
  /// `grid` in axes of the scan's world, wherever its origin is. Errors: those of ValidateGrid;
  /// INVALID_ARGUMENT (fewer than 8 voxels along an axis).
  static absl::StatusOr<ReferenceMaker> Create(const VolumeGrid& grid, double mu_water_per_mm,
                                               double voxel_mm);

  /// Of the volume that is given, and of the reference.
  const VolumeGrid& given() const { return given_; }
  const VolumeGrid& made() const { return made_; }
  /// So many slices of the given volume go into one of the reference.
  int slices_at_once() const { return block_.z; }
  /// Slices that Add still wants, in whole calls: what is left of the volume then goes into none.
  int slices_wanted() const { return (made_.nz - done_) * block_.z; }
  /// Of the reference, and of the slices of one Add.
  int64_t bytes() const;

  /// The next slices_at_once() slices in HU, [z][y][x]. Errors: INVALID_ARGUMENT (of another
  /// shape), FAILED_PRECONDITION (more than are wanted).
  absl::Status Add(HostView3<const float> hounsfield);
  /// Once, when no more slices are wanted. Errors: FAILED_PRECONDITION (they are),
  /// INVALID_ARGUMENT (nothing denser than air).
  absl::StatusOr<ReferenceVolume> Finish();

 private:
  ReferenceMaker(const VolumeGrid& grid, double mu_water_per_mm, double voxel_mm);

  VolumeGrid given_, made_;
  double mu_water_per_mm_;
  BlockSize block_;
  int done_ = 0;  // slices of the reference
  std::vector<float> mu_;
};

/// The same of a volume that is in memory. Errors: ReferenceMaker's; INVALID_ARGUMENT (voxels of
/// another number than the grid's).
absl::StatusOr<ReferenceVolume> MakeReference(const VolumeGrid& grid,
                                              HostView3<const float> hounsfield,
                                              double mu_water_per_mm, double voxel_mm);

/// The same with coarser voxels: as many together as go into `voxel_mm`, at least one.
ReferenceVolume Coarser(const ReferenceVolume& reference, double voxel_mm);

}  // namespace isocenter::recon
