// The jobs of a 3-D DSA: mask, fill, and the difference of both.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/jobs/job_table.h"
#include "server/pipeline/acquisition_request.h"

namespace isocenter::pipeline {

/// The jobs of a pair; null: not there.
struct Pair {
  jobs::JobSnapshot mask, fill, subtraction;
};
Pair FindPair(const jobs::JobTable& table, const std::string& pair_id);

/// What a job's header said, before the worklist completed it.
const std::string& HeaderPatientId(const jobs::Job& job);
const std::string& HeaderAccessionNumber(const jobs::Job& job);

/// Holds one half of a pair against the other, from which it takes what it does not say itself.
/// Whether the other half is there. Errors: INVALID_ARGUMENT (they do not belong together).
absl::StatusOr<bool> JoinPair(const jobs::JobTable& table, AcquisitionRequest& request);

}  // namespace isocenter::pipeline
