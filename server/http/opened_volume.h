// The stored volume of a job, opened to be looked at.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/http/apis.h"
#include "server/jobs/job_table.h"
#include "server/viewer/raw_volume.h"

namespace isocenter::http {

struct OpenedVolume {
  jobs::JobSnapshot job;
  std::shared_ptr<const viewer::RawVolume> raw;
};

/// Errors: NOT_FOUND, FAILED_PRECONDITION (the job is not completed), those of RawVolume::Open.
absl::StatusOr<OpenedVolume> OpenVolume(const WebEnvironment& environment, const std::string& id);

}  // namespace isocenter::http
