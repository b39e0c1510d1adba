// Slice thickness by a wire that rises through the slices, and distances in a slice by thin nodes.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "kernels/geometry/phantom_tables/module_table.h"
#include "kernels/quality/placement.h"
#include "kernels/quality/transfer_curve.h"

namespace isocenter::quality {

struct RampProfile {
  /// Over mm from a slice's middle, 1 at most; each a mean over 5/8 of a slice.
  FrequencyCurve sensitivity;
  double fwhm_mm = 0;  // full width at half maximum of it, without what those means add
};
/// What voxels show of a ramp's wire, by how far the wire is above or below them: where the wire is
/// in a slice is known, so a length in the slice is a height, tan(kRampDeg) times as large. The
/// blur in the slices, as much smaller, and the wire's thickness are part of it. Errors: those of
/// VisitRod; INVALID_ARGUMENT for a wire that does not stand out.
absl::StatusOr<RampProfile> MeasureRamp(const VolumeView& volume, const Placement& placement,
                                        const PhantomModule& ramp);

/// The largest difference of a distance between two nodes from what it is, mm. Errors: those of
/// VisitRod; INVALID_ARGUMENT for fewer than two nodes, and for one that does not stand out.
absl::StatusOr<double> NodeDistanceError(const VolumeView& volume, const Placement& placement,
                                         std::span<const PhantomModule> nodes);

}  // namespace isocenter::quality
