#include "client/cli/output/going_on.h"

#include "absl/strings/str_cat.h"
#include "client/cli/interrupt.h"
#include "client/cluster.h"

namespace isocenter::cli {
namespace {

std::string GoesOn(const std::string& job_id) {
  return absl::StrCat("job ", job_id, " goes on; `isocenter watch ", job_id, "` follows it");
}

}  // namespace

void SayThatItGoesOn(const v1::Job& job) {
  SayWhenEnded(client::HasEnded(job) ? "" : GoesOn(job.job_id()));
}

std::string LostText(const absl::Status& why) {
  return absl::StrCat("the service is out of reach and is tried again: ", why.message());
}

absl::Status WithWayBack(const absl::Status& status, const std::string& job_id) {
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(status.message(), "; once the service is there, ", GoesOn(job_id)));
}

}  // namespace isocenter::cli
