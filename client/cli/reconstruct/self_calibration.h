// isocenter reconstruct --self-calibrate.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/reconstruct/options.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/ops/device.h"
#include "kernels/recon/self_calibration/self_calibration.h"

namespace isocenter::cli {

/// The volume of --reference in the world of a scan of a patient who lies so; null without the
/// flag. Errors: those of reading it and of MakeReference, with the file.
absl::StatusOr<std::unique_ptr<const recon::ReferenceVolume>> ReadReference(
    const recon::Acquisition& acquisition, PatientPosition position,
    const ReconstructOptions& options);

/// Where the detector was (recon::CalibrateFromFrames): on `device`, or on the host's cores where
/// that has no derivatives by matrices. `reference` may be null. Says on standard error what was
/// found. Errors: those of the search, RESOURCE_EXHAUSTED.
absl::StatusOr<recon::SelfCalibration> SelfCalibrate(const recon::Acquisition& acquisition,
                                                     const recon::ReferenceVolume* reference,
                                                     const ReconstructOptions& options,
                                                     const LocalFrames& frames,
                                                     ops::Device& device);

}  // namespace isocenter::cli
