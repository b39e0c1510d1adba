// Jobs whose volume can be asked for.
#pragma once

#include "absl/status/status.h"
#include "server/jobs/job.h"

namespace isocenter::jobs {

/// Errors: FAILED_PRECONDITION, with the job's state and why it failed: it is not completed.
absl::Status CheckCompleted(const Job& job);

}  // namespace isocenter::jobs
