// Sharpness in three dimensions, from the surface of a sphere.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/quality/region.h"
#include "kernels/quality/transfer_curve.h"

namespace isocenter::quality {

struct Sphere {
  Vec3 center;  // world, mm
  double radius_mm = 0;
};

struct SphereTransfer {
  FrequencyCurve in_plane;  // 1 at frequency 0, up to the voxels' Nyquist frequency
  FrequencyCurve axial;     // across the slices, up to theirs
  /// How much of what lies at a distance from a slice's middle the slice shows: 1 at 0 mm.
  FrequencyCurve slice_sensitivity;
  double slice_fwhm_mm = 0;  // full width at half maximum of it
  double contrast = 0;       // HU
};
/// Values by distance from the fitted centre, of the surface that looks along the slices (to 30°)
/// and of that which looks across them (to 30°), as at the edge of a rod (Thornton, Flynn, Proc.
/// SPIE 6142 (2006)). A sphere meets all fractions of a voxel and of a slice. `reach_mm` on both
/// sides of the surface is looked at. The slice sensitivity is the axial transfer function
/// transformed back; it is taken as symmetric. Errors: those of VisitRod; INVALID_ARGUMENT for
/// voxels that are not square in the slices, `reach_mm` below 4 voxels or above the radius, a
/// contrast that noise hides, and distances that too few voxels have.
absl::StatusOr<SphereTransfer> MeasureSphere(const VolumeView& volume, const Sphere& sphere,
                                             double reach_mm);

}  // namespace isocenter::quality
