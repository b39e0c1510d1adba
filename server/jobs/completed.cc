#include "server/jobs/completed.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace isocenter::jobs {

absl::Status CheckCompleted(const Job& job) {
  if (job.state == JobState::kCompleted) return absl::OkStatus();
  const absl::string_view why = job.error.message();
  return absl::FailedPreconditionError(
      absl::StrCat("job '", job.id, "' is ", std::string(Name(job.state)), why.empty() ? "" : ": ",
                   why, "; legal is a completed job"));
}

}  // namespace isocenter::jobs
