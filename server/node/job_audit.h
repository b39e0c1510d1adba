// Records of the audit trail about jobs, whichever interface they were asked on.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/audit/event.h"
#include "server/jobs/job.h"

namespace isocenter::node {

/// What somebody did to a job, or wanted to. `service`: "grpc" or "http". `job` may have no more
/// than its id, or nothing.
audit::Event EventAbout(audit::Action action, const audit::Actor& actor, std::string service,
                        const jobs::Job& job, const absl::Status& outcome);

}  // namespace isocenter::node
