// Whether a study is the patient's for whom an acquisition names it.
#pragma once

#include "absl/status/status.h"
#include "server/jobs/job.h"
#include "server/pipeline/engine_environment.h"

namespace isocenter::pipeline {

/// In the archive a study has one patient: a result of another one would take the first patient's
/// series along. So a Study Instance UID under which another patient id is stored, or being
/// acquired, is refused. Ids that are not known contradict nothing. Errors: INVALID_ARGUMENT
/// (marked private; does not tell the other id), those of the result store.
absl::Status CheckStudyPatient(const EngineParts& parts, const jobs::PatientStudy& header);

}  // namespace isocenter::pipeline
