// What an image says of the request that it was made for, and of the step that made it. Source:
// DICOM PS3.3 C.7.3.1.
#pragma once

#include <string>

#include "server/dicom/objects/attributes.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// SOP Instance UID of the step that a job performs. Always the same for the same job.
std::string ProcedureStepUid(const std::string& job_id);
/// What people call the step: 16 characters of creation time and job id.
std::string ProcedureStepId(const jobs::Job& job);

/// Puts Request Attributes Sequence, where the worklist has answered, and Referenced Performed
/// Procedure Step Sequence, where the step is reported.
void PutRequestAttributes(const jobs::Job& job, Attributes& put);

}  // namespace isocenter::dicom
