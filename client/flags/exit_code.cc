#include "client/flags/exit_code.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
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

constexpr ExitCodeMeaning kMeanings[] = {
    {kExitDone, "done", ""},
    {kExitFailed,
     "failed here: a file, memory, a computation; or the certificates, the name or the port that "
     "are given do not fit the server",
     "read the message: what, the value, what is legal; the same call will fail again"},
    {kExitUsage, "wrong usage: a flag, a value, or flags that mean nothing together",
     "correct the call"},
    {kExitShort,
     "told, but not passed (qa, quality trend, consistency, send of several), or not by all nodes "
     "(jobs, status, transfers, retry)",
     "the result is on standard output"},
    {kExitNotThere, "what was named is not there: a job, protocol, set, destination, node or file",
     "correct the name"},
    {kExitRefused,
     "the service answered that it will not, or could not; another console has taken over the scan "
     "that stream sent",
     "read the message; the same call will fail again"},
    {kExitUnreachable,
     "no service answers, or it does not take this now: it drains, is full, or was called too "
     "often",
     "try again later"},
    {kExitJobFailed,
     "the job that was waited for (stream, watch, refine --wait) has failed, was cancelled or "
     "deleted",
     "look at the job"},
    {kExitInterrupted, "ended by Ctrl-C or SIGTERM", ""},
};
constexpr size_t kColumns = 90, kIndent = 6;

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

std::span<const ExitCodeMeaning> ExitCodeMeanings() { return kMeanings; }

std::string ExitCodeTable() {
  std::string table = "Exit codes, the same in every command:\n";
  for (const ExitCodeMeaning& row : kMeanings) {
    const char* const then = *row.for_script == '\0' ? "" : ". For a script: ";
    std::string line = absl::StrFormat("  %-3d ", row.code);
    size_t width = line.size();
    for (const absl::string_view word :
         absl::StrSplit(absl::StrCat(row.means, then, row.for_script), ' ')) {
      if (width + 1 + word.size() > kColumns) {
        absl::StrAppend(&line, "\n", std::string(kIndent, ' '));
        width = kIndent;
      }
      absl::StrAppend(&line, " ", word);
      width += 1 + word.size();
    }
    absl::StrAppend(&table, line, "\n");
  }
  return table +
         "With --json (to standard output) a command that ends with another code than 0 and has "
         "not\n"
         "written its document writes {\"error\": {\"code\", \"message\", \"hint\", "
         "\"exit_code\"}} there,\n"
         "and the sentence on standard error as always.\n";
}

}  // namespace isocenter::flags
