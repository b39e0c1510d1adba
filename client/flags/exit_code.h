// What a program's exit code says: one table for all commands.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::flags {

enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,        // here: a file, memory, a computation, a connection that never will be
  kExitUsage = 2,         // the command line means nothing
  kExitShort = 3,         // told, but not passed, or not by all nodes
  kExitNotThere = 4,      // what was named is not there: a job, a set, a node, a file
  kExitRefused = 5,       // the service answered that it will not, or could not
  kExitUnreachable = 6,   // no service answers, or it takes this not now
  kExitJobFailed = 7,     // the job that was waited for has failed or was cancelled
  kExitInterrupted = 130  // as of a program that SIGINT has ended, in a shell
};

/// Of the end of a command.
ExitCode ExitCodeOf(const absl::Status& status);

/// What `help` takes besides commands.
inline constexpr char kExitCodesTopic[] = "exit-codes";
/// A row of the table.
struct ExitCodeMeaning {
  ExitCode code;
  const char* means;
  const char* for_script;  // what to do; empty: nothing
};
/// Of all codes; docs/user-guide/console.md has the same words.
std::span<const ExitCodeMeaning> ExitCodeMeanings();
/// The table, for `isocenter help exit-codes`.
std::string ExitCodeTable();

/// Payload of errors that a service has answered, in difference to those that arose here.
inline constexpr char kServiceAnswer[] = "isocenter/service_answer";
/// Payload of refusals of a service that may be none later, without any change of the call.
inline constexpr char kTryAgain[] = "isocenter/try_again";
/// Payload of an UNAVAILABLE that stays: what connects and what listens do not fit together.
inline constexpr char kNoUseWaiting[] = "isocenter/no_use_waiting";

/// The end of a command that the service would not, or could not, do, where what it answered is no
/// error by itself. FAILED_PRECONDITION.
absl::Status RefusedByService(absl::string_view message);

/// The end of a command that waited for a job which has not completed. `code`: the job's, or that
/// of what ended it.
absl::Status JobFailed(absl::StatusCode code, absl::string_view message, absl::string_view job_id);

/// `status`, which names the job that it is about to programs that ask for a document.
absl::Status OfJob(absl::Status status, absl::string_view job_id);
/// The job of OfJob and JobFailed; empty: none is known.
std::string JobOf(const absl::Status& status);

}  // namespace isocenter::flags
