// isocenter cancel: stops a job.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/flags/exit_code.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id, reason;
  JsonOutput json;
};

/// E.g. "patient_refused".
std::string NameOf(v1::CancelReason reason) {
  return absl::AsciiStrToLower(
      std::string(absl::StripPrefix(v1::CancelReason_Name(reason), "CANCEL_REASON_")));
}

std::vector<std::string> Reasons() {
  std::vector<std::string> names;
  for (int r = v1::CancelReason_MIN + 1; r <= v1::CancelReason_MAX; ++r) {
    names.push_back(NameOf(static_cast<v1::CancelReason>(r)));
  }
  return names;
}

absl::Status Cancel(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  v1::CancelReason reason = v1::CANCEL_REASON_UNSPECIFIED;
  for (int r = v1::CancelReason_MIN; r <= v1::CancelReason_MAX; ++r) {
    const auto candidate = static_cast<v1::CancelReason>(r);
    if (NameOf(candidate) == options.reason) reason = candidate;
  }
  ISO_ASSIGN_OR_RETURN(std::vector<JobService> services,
                       ServicesOfJob(options.server, options.job_id));
  // After a failover it may be under way on more than one node.
  if (std::ranges::any_of(services, &JobService::active)) {
    std::erase_if(services, [](const JobService& service) { return !service.active; });
  } else {
    services.erase(services.begin() + 1, services.end());  // it says why not
  }
  for (const JobService& service : services) {
    ISO_RETURN_IF_ERROR(client::JobClient(service.channel).Cancel(options.job_id, reason).status());
  }
  v1::Job job;
  for (const JobService& service : services) {
    // A step that is under way ends first, and where it was the last one the job is complete.
    ISO_ASSIGN_OR_RETURN(
        job, client::JobClient(service.channel).Watch(options.job_id, [](const v1::Job&) {
          return true;
        }));
  }
  if (job.state() == v1::JOB_STATE_COMPLETED) {
    return flags::RefusedByService(
        absl::StrCat("job ", job.job_id(), " was completed before it could be cancelled"));
  }
  return options.json.Report(
      absl::StrCat("job ", job.job_id(), " is ", StateName(job.state()), "\n"), ToJson(job));
}

}  // namespace

void AddCancelCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand("cancel", "Stop a job that has not ended");
  command.Footer(
      "Examples:\n"
      "  isocenter cancel JOB\n"
      "  isocenter cancel JOB --reason patient_refused");
  AddJobArgument(command, options->job_id).Required();
  command.Add("--reason", options->reason, "why, for the information system").OneOf(Reasons());
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Cancel(*options); });
}

}  // namespace isocenter::cli
