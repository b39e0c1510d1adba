// isocenter reconstruct --self-calibrate.
#pragma once

#include "absl/status/statusor.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/reconstruct/options.h"
#include "kernels/ops/device.h"
#include "kernels/recon/self_calibration/self_calibration.h"

namespace isocenter::cli {

/// Where the detector was (recon::CalibrateFromFrames): on `device`, or on the host's cores where
/// that has no derivatives by matrices. Says on standard error what was found. Errors: those of the
/// search, RESOURCE_EXHAUSTED.
absl::StatusOr<recon::SelfCalibration> SelfCalibrate(const recon::Acquisition& acquisition,
                                                     const ReconstructOptions& options,
                                                     const LocalFrames& frames,
                                                     ops::Device& device);

}  // namespace isocenter::cli
