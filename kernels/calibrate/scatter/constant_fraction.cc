#include "kernels/calibrate/scatter/constant_fraction.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::calibrate {
namespace {

absl::Status CheckRange(absl::string_view what, double value, double least, double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", value, "; legal is ", least, " to ", most));
}

}  // namespace

absl::StatusOr<ops::ScatterKernels> ConstantFraction(double fraction, double reach_mm,
                                                     double mu_water_per_mm) {
  ISO_RETURN_IF_ERROR(
      CheckRange("the fraction of scatter", fraction, kLeastScatterFraction, kMostScatterFraction));
  ISO_RETURN_IF_ERROR(
      CheckRange("the reach of scatter (mm)", reach_mm, kLeastReachMm, kMostReachMm));
  const ops::ScatterKernels::Group nothing{
      .alpha = 1, .beta = 0, .narrow_sigma_mm = reach_mm, .wide_sigma_mm = reach_mm};
  ops::ScatterKernels::Group object = nothing;
  object.from_mm = kLeastScatteringMm;
  object.amplitude = fraction;
  return ops::ScatterKernels{.groups = {nothing, object}, .mu_water_per_mm = mu_water_per_mm};
}

}  // namespace isocenter::calibrate
