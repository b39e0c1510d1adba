// How the scan of a job was made, for tests of image quality.
#pragma once

#include <string>

#include "isocenter/v1/quality.pb.h"
#include "server/jobs/job_table.h"

namespace isocenter::daemon {

/// Of a job that is not there any more its frames alone: none other has them.
v1::QualityConditions ConditionsOfJob(const jobs::JobTable& table, const std::string& job_id);

}  // namespace isocenter::daemon
