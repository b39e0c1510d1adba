// Whether what a console repeats, to go on with a job, is what the job was begun with.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/jobs/job.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::pipeline {

/// Holds a repeated header against a job: number, size and kind of its frames, pixel pitches, empty
/// beam and tube voltage, planned trajectory, grid, position and identity of the patient, study,
/// protocol, pair. A grid, a protocol, a name or a Study Instance UID that the header does not give
/// is not compared, because protocol, server and worklist may have given the job one. Errors:
/// INVALID_ARGUMENT naming each difference, the header's value and the job's (marked private where
/// one may identify a patient).
absl::Status CheckSameAcquisition(const jobs::Job& job, const AcquisitionRequest& repeated);

/// Whether the caller began the job, or nobody was or is asked who calls. Errors:
/// PERMISSION_DENIED.
absl::Status CheckSameCaller(const jobs::Job& job, const std::string& caller);

}  // namespace isocenter::pipeline
