#include "server/jobs/job.h"

#include <random>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/identifier.h"

namespace isocenter::jobs {

bool IsLegalTransition(JobState from, JobState to) {
  if (HasEnded(from)) return false;
  if (to == JobState::kFailed || to == JobState::kCancelled) return true;
  // After a restart a job begins again with its spool.
  if (to == JobState::kReceiving) return true;
  switch (from) {
    case JobState::kReceiving:
      return to == JobState::kReconstructing;
    case JobState::kReconstructing:
      return to == JobState::kRefining || to == JobState::kExporting;
    case JobState::kRefining:
      return to == JobState::kExporting;
    case JobState::kExporting:
      return to == JobState::kCompleted;
    default:
      return false;
  }
}

std::string NewJobId(absl::Time now) {
  std::random_device entropy;
  return absl::StrFormat("%s-%08x", absl::FormatTime("%Y%m%dT%H%M%S", now, absl::UTCTimeZone()),
                         entropy());
}

std::optional<absl::Time> BeginOf(const std::string& id) {
  absl::Time begun;
  const size_t length = std::string_view("20260101T120000").size();
  const bool is_one =
      id.size() > length && id[length] == '-' &&
      absl::ParseTime("%Y%m%dT%H%M%S", id.substr(0, length), absl::UTCTimeZone(), &begun, nullptr);
  return is_one ? std::optional(begun) : std::nullopt;
}

absl::Status CheckJobId(const std::string& id) {
  const bool legal = IsIdentifier(id) && id.find_first_not_of('.') != std::string::npos;
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("job id '", id, "': legal is 1 to 64 of [A-Za-z0-9_.-], not dots only"));
}

}  // namespace isocenter::jobs
