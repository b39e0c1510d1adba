#include "client/flags/exit_code.h"

#include "absl/strings/cord.h"
#include "client/flags/command.h"
#include "client/flags/incomplete.h"
#include "client/flags/wrong_usage.h"

namespace isocenter::flags {
namespace {

constexpr char kInterrupted[] = "isocenter/interrupted";
constexpr char kShort[] = "isocenter/falls_short";
constexpr char kWrongUsage[] = "isocenter/wrong_usage";
constexpr char kJobFailed[] = "isocenter/job_failed";
constexpr char kJob[] = "isocenter/job";

absl::Status Marked(absl::StatusCode code, absl::string_view message, const char* mark) {
  absl::Status status(code, message);
  status.SetPayload(mark, absl::Cord());
  return status;
}

}  // namespace

absl::Status Interrupted(absl::string_view message) {
  return Marked(absl::StatusCode::kCancelled, message, kInterrupted);
}

absl::Status NotPassed(absl::string_view message) {
  return Marked(absl::StatusCode::kFailedPrecondition, message, kShort);
}

absl::Status Incomplete(absl::string_view message) {
  return Marked(absl::StatusCode::kUnavailable, message, kShort);
}

absl::Status WrongUsage(absl::string_view message) {
  return Marked(absl::StatusCode::kInvalidArgument, message, kWrongUsage);
}

absl::Status JobFailed(absl::StatusCode code, absl::string_view message, absl::string_view job_id) {
  return OfJob(Marked(code, message, kJobFailed), job_id);
}

absl::Status OfJob(absl::Status status, absl::string_view job_id) {
  status.SetPayload(kJob, absl::Cord(job_id));
  return status;
}

std::string JobOf(const absl::Status& status) {
  const auto job = status.GetPayload(kJob);
  return job ? std::string(*job) : "";
}

absl::Status RefusedByService(absl::string_view message) {
  return Marked(absl::StatusCode::kFailedPrecondition, message, kServiceAnswer);
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  if (status.GetPayload(kShort)) return kExitShort;
  if (status.GetPayload(kWrongUsage)) return kExitUsage;
  if (status.GetPayload(kInterrupted)) return kExitInterrupted;
  if (status.GetPayload(kJobFailed)) return kExitJobFailed;
  if (status.GetPayload(kTryAgain)) return kExitUnreachable;
  if (status.GetPayload(kNoUseWaiting)) return kExitFailed;
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnreachable;
    case absl::StatusCode::kNotFound:
      return kExitNotThere;
    default:
      return status.GetPayload(kServiceAnswer) ? kExitRefused : kExitFailed;
  }
}

std::string ExitCodeTable() {
  return "Exit codes, the same in every command:\n"
         "  0    done\n"
         "  1    failed here: a file, memory, a computation; or the certificates, the name or the "
         "port\n"
         "       that are given do not fit the server, which waiting does not mend\n"
         "  2    wrong usage: a flag, a value, or flags that mean nothing together\n"
         "  3    told, but not passed (qa, quality trend, consistency), or not by all nodes (jobs, "
         "status, transfers, retry)\n"
         "  4    what was named is not there: a job, protocol, set, destination, node or file\n"
         "  5    the service answered that it will not, or could not\n"
         "  6    no service answers, or it takes this not now (full, draining, too many calls): "
         "try again "
         "later\n"
         "  7    the job that was waited for has failed or was cancelled\n"
         "  130  ended by Ctrl-C or SIGTERM\n"
         "With --json (to standard output) a command that ends with another code than 0 and has "
         "not\n"
         "written its document writes {\"error\": {\"code\", \"message\", \"hint\", "
         "\"exit_code\"}} there,\n"
         "and the sentence on standard error as always.\n";
}

}  // namespace isocenter::flags
