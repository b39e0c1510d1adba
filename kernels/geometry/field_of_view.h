// The region that every view of a trajectory sees.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter {

struct FieldOfView {
  /// Of the largest disc around the isocentre in the plane z = 0 of which every line is measured:
  /// that every view sees whole, or, where the sources go all around, of which every view sees the
  /// same half.
  double radius_mm = 0;
  /// The axis is seen by every view for |z| up to this.
  double half_height_mm = 0;
};

/// Both are taken to the centres of the outermost pixels, between which a detector can be
/// interpolated. Errors: INVALID_ARGUMENT when the isocentre falls outside the detector in some
/// view (the view is named), for an empty trajectory and a detector without pixels.
absl::StatusOr<FieldOfView> ComputeFieldOfView(const Trajectory& trajectory,
                                               const Detector& detector);

/// The "auto" grid: a cube of size^3 cubic voxels centred at the isocentre whose side is the field
/// of view's diameter. Errors: as ComputeFieldOfView and ValidateGrid.
absl::StatusOr<VolumeGrid> AutoGrid(const Trajectory& trajectory, const Detector& detector,
                                    int size);

}  // namespace isocenter
