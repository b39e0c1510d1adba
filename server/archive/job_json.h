// Job records as JSON text, for the index.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/jobs/job.h"

namespace isocenter::archive {

/// All of a job but its preview and what is predicted of it. Numbers keep every bit; those that are
/// not finite become NaN; times keep microseconds; bytes that are not UTF-8 are replaced.
std::string JobToJson(const jobs::Job& job);

/// Members that are missing keep their defaults, so that records of older versions stay readable.
/// Errors: DATA_LOSS, naming what is wrong.
absl::StatusOr<jobs::Job> JobFromJson(absl::string_view text);

}  // namespace isocenter::archive
