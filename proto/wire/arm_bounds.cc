#include "proto/wire/arm_bounds.h"

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::wire {

absl::Status CheckArmBounds(const ProjectionMatrix& matrix, const Detector& detector) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
  const double distance = Norm(camera.source);
  // What is at a bound may come out of a matrix beyond it.
  constexpr double kRounding = 1e-6;
  if (!(distance >= kLeastSourceToIsocenterMm * (1 - kRounding) &&
        distance <= kMostSourceToIsocenterMm * (1 + kRounding))) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the source is %g mm from the isocentre; legal is %g to %g mm: are the matrices in "
        "millimetres?",
        distance, kLeastSourceToIsocenterMm, kMostSourceToIsocenterMm));
  }
  const double focal = camera.focal_u_px * detector.pitch_u_mm;
  const double magnification = focal / camera.isocenter_depth_mm;
  if (magnification >= kLeastMagnification && magnification <= kMostMagnification) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "the magnification at the isocentre is %g (the detector is %g mm from the source, the "
      "isocentre %g mm); legal is %g to %g: are the matrices in millimetres, and of pixels of %g "
      "mm?",
      magnification, focal, camera.isocenter_depth_mm, kLeastMagnification, kMostMagnification,
      detector.pitch_u_mm));
}

}  // namespace isocenter::wire
