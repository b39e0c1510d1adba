// isocenter send and isocenter retry: results to DICOM destinations, on request.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/transfer_text.h"
#include "client/flags/wrong_usage.h"
#include "client/transfer_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct SendOptions {
  client::ServerAddress server;
  std::string job_id, destination;
  JsonOutput json;
};

absl::Status Send(const SendOptions& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  ISO_ASSIGN_OR_RETURN(const v1::Transfer transfer,
                       client::TransferClient(channel).Send(options.job_id, options.destination));
  return options.json.Report(TransferTable({transfer}), ToJson(transfer));
}

struct RetryOptions {
  client::ServerAddress server;
  std::string job_id, destination;
  bool all = false;
  JsonOutput json;
};

absl::Status Retry(const RetryOptions& options) {
  if (options.job_id.empty() && options.destination.empty() && !options.all) {
    return flags::WrongUsage(
        "what is to be tried again is not said; legal is a JOB, --to, both, or --all");
  }
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  v1::RetryTransfersRequest request;
  request.set_job_id(options.job_id);
  request.set_destination(options.destination);
  request.set_all(options.all);
  const auto answers = cluster.AskAll<int>([&](const client::ServiceChannel& channel) {
    return client::TransferClient(channel).Retry(request);
  });
  absl::Status completeness = Completeness(answers);
  if (NoneOf(answers)) return completeness;
  int count = 0;
  for (const client::NodeAnswer<int>& answer : answers) count += answer.value.value_or(0);
  ISO_RETURN_IF_ERROR(options.json.Report(absl::StrCat(count, " instances are tried now\n"),
                                          {{"instance_count", count}}));
  return completeness;
}

}  // namespace

void AddSendCommand(flags::Command program) {
  auto options = std::make_shared<SendOptions>();
  flags::Command command =
      program.Subcommand("send", "Send a completed job to a DICOM destination");
  command.Footer(
      "Example:\n"
      "  isocenter send JOB --to PACS\n"
      "The server sends it in the background and goes on after a restart; `isocenter transfers` "
      "follows it.");
  AddJobArgument(command, options->job_id).Required();
  command
      .Add("--to", options->destination,
           "AE title or name of a configured destination; not needed where there is only one")
      .Type("AE");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Send(*options); });
}

void AddRetryCommand(flags::Command program) {
  auto options = std::make_shared<RetryOptions>();
  flags::Command command = program.Subcommand(
      "retry", "Try now to send what DICOM destinations have refused, or what waits for them");
  command.Footer(
      "Examples:\n"
      "  isocenter retry JOB\n"
      "  isocenter retry --to PACS        all that PACS has refused or that waits for it\n"
      "  isocenter retry --all\n"
      "What waits for its next attempt (`isocenter transfers` tells when that is) is tried at "
      "once.");
  flags::Option job = AddJobArgument(command, options->job_id);
  flags::Option to =
      command.Add("--to", options->destination, "only to this destination").Type("AE");
  command.AddSwitch("--all", options->all, "everything that has failed or waits")
      .Excludes(job)
      .Excludes(to);
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Retry(*options); });
}

}  // namespace isocenter::cli
