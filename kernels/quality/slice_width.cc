#include "kernels/quality/slice_width.h"

#include "absl/strings/str_format.h"

namespace isocenter::quality {

absl::StatusOr<double> SliceWidth(double fwhm_mm, double slice_mm) {
  if (fwhm_mm >= kLeastSliceWidth * slice_mm) return fwhm_mm;
  return absl::InvalidArgumentError(absl::StrFormat(
      "the slice sensitivity reads %.3g mm, %.2f of a slice of %.3g mm; legal is one slice or "
      "more, since below the voxels are read and not the scanner: reconstruct on thinner slices",
      fwhm_mm, fwhm_mm / slice_mm, slice_mm));
}

}  // namespace isocenter::quality
