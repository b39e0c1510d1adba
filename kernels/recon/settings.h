// What a filtered back-projection is to do, as a protocol states it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

struct FdkSettings {
  ops::FilterWindow window = ops::FilterWindow::kRamLak;
  double cutoff = 1.0;  // of the Nyquist frequency
  RedundancyWeighting redundancy = RedundancyWeighting::kAuto;
  ops::Truncation truncation = ops::Truncation::kNone;
  double mu_water_per_mm = 0.02;  // where no calibration knows it
  ops::Precision precision = ops::Precision::kExact;
  /// Method of the back-projection in the registry; empty: the backend's default for `precision`.
  std::string backproject_method;
};

/// What the acquisition's calibration, or the one that has corrected it, knows of it, and the rest
/// from the settings.
ops::HounsfieldScale HounsfieldScaleOf(const Acquisition& acquisition, const FdkSettings& settings);

/// Errors: INVALID_ARGUMENT naming the field as a protocol has it, its value and what is legal.
absl::Status ValidateFdkSettings(const FdkSettings& settings);

}  // namespace isocenter::recon
