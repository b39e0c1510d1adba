// The region that every view of a trajectory sees.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter {

struct FieldOfView {
  double radius_mm =
      0;  // of the largest cylinder around z that stays on the detector's columns in all views
  double half_height_mm = 0;  // of its part that stays on the detector's rows, at the isocentre
};

/// Errors: INVALID_ARGUMENT when the isocentre falls outside the detector in some view (the view is
/// named).
absl::StatusOr<FieldOfView> ComputeFieldOfView(const Trajectory& trajectory,
                                               const Detector& detector);

/// The "auto" grid: a cube of size^3 cubic voxels centred at the isocentre whose side is the field
/// of view's diameter.
absl::StatusOr<VolumeGrid> AutoGrid(const Trajectory& trajectory, const Detector& detector,
                                    int size);

}  // namespace isocenter
