// What an image says of the request that it was made for, and of the step that made it. Source:
// DICOM PS3.3 C.7.3.1.
#pragma once

#include "absl/status/status.h"
#include "server/jobs/job.h"

class DcmItem;

namespace isocenter::dicom {

/// Inserts Request Attributes Sequence, where the worklist has answered, and Referenced Performed
/// Procedure Step Sequence, where the step is reported. Errors: INTERNAL.
absl::Status InsertRequestAttributes(const jobs::Job& job, DcmItem& dataset);

}  // namespace isocenter::dicom
