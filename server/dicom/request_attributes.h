// What an image says of the request that it was made for, and of the step that made it. Source:
// DICOM PS3.3 C.7.3.1.
#pragma once

#include "server/dicom/attributes.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// Puts Request Attributes Sequence, where the worklist has answered, and Referenced Performed
/// Procedure Step Sequence, where the step is reported.
void PutRequestAttributes(const jobs::Job& job, Attributes& put);

}  // namespace isocenter::dicom
