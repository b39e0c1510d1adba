// What a plan says of its acquisition, for DICOM and for telling acquisitions apart.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/self_calibration/self_calibration.h"
#include "server/jobs/job.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::pipeline {

/// SHA-256 of the matrices (float64, little-endian, row-major, in frame order), in hexadecimal.
std::string TrajectoryHash(const Trajectory& trajectory);

/// "hann 0.80".
std::string FilterDescription(const recon::FdkSettings& settings);

/// What the header says and what follows from the plan; distances are those of the middle view.
jobs::AcquisitionFacts FactsOf(const AcquisitionRequest& request,
                               const recon::ReconstructionPlan& plan);

/// Of the wire and the page: millimetres and degrees.
jobs::MotionFacts MotionFactsOf(const recon::FoundMotion& found);
jobs::SelfCalibrationFacts SelfCalibrationFactsOf(const recon::SelfCalibration& found);

struct PositionerScans {
  jobs::PositionerScan primary, secondary;
};
/// The trajectory as DICOM counts the angles of a C-arm (PS3.3, C.8.7.5.1.2): about the patient,
/// who lies so. Errors: INVALID_ARGUMENT (no view; a singular matrix or a source at the isocentre,
/// with the view).
absl::StatusOr<PositionerScans> ScansOf(const Trajectory& trajectory,
                                        PatientPosition position = PatientPosition::kHfs);

}  // namespace isocenter::pipeline
