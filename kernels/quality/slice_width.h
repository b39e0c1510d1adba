// From which width on a slice's sensitivity is measured, and not its voxels.
#pragma once

#include "absl/status/statusor.h"

namespace isocenter::quality {

/// Slices. Of Gaussian blurs at eight places between two slices, spheres are read within 3 % from
/// here on, ramps within 5 %. Narrower ones are read too wide: 0.8 slices by 7 %, 0.6 by 22 %.
inline constexpr double kLeastSliceWidth = 1;

/// A baseline of fewer slices is so near to that that a later scan's noise, or another place
/// between two slices, may make it unmeasured: the same room read 1.03 and 0.93.
inline constexpr double kSureSliceWidth = 1.2;

/// `fwhm_mm` of slices of `slice_mm`. INVALID_ARGUMENT, with both, below kLeastSliceWidth.
absl::StatusOr<double> SliceWidth(double fwhm_mm, double slice_mm);

}  // namespace isocenter::quality
