#include "kernels/recon/settings.h"

#include "absl/strings/str_cat.h"

namespace isocenter::recon {

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
