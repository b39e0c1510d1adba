#include "kernels/recon/settings.h"

#include "absl/strings/str_cat.h"

namespace isocenter::recon {

ops::HounsfieldScale HounsfieldScaleOf(const Acquisition& acquisition,
                                       const FdkSettings& settings) {
  ops::HounsfieldScale scale{.mu_water_per_mm = settings.mu_water_per_mm};
  const auto& calibration =
      acquisition.calibration ? acquisition.calibration : acquisition.corrected_by;
  if (calibration == nullptr) return scale;
  const ops::Calibration& known = *calibration;
  if (known.mu_water_per_mm > 0) scale.mu_water_per_mm = known.mu_water_per_mm;
  scale.table = known.hounsfield;
  return scale;
}

absl::Status ValidateFdkSettings(const FdkSettings& settings) {
  if (!(settings.cutoff > 0 && settings.cutoff <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("filter_cutoff is ", settings.cutoff, "; legal is more than 0, at most 1"));
  }
  if (!(settings.mu_water_per_mm >= 0.001 && settings.mu_water_per_mm <= 0.1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mu_water_per_mm is ", settings.mu_water_per_mm, "; legal is 0.001 to 0.1"));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::recon
