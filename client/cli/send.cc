// isocenter send and isocenter retry: results to DICOM destinations, on request.
#include <cstdio>
#include <memory>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/output/transfer_text.h"
#include "client/transfer_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct SendOptions {
  client::ServerAddress server;
  std::string job_id, destination;
};

absl::Status Send(const SendOptions& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::Transfer transfer,
                       client::TransferClient(channel).Send(options.job_id, options.destination));
  std::fputs(TransferTable({transfer}).c_str(), stdout);
  return absl::OkStatus();
}

struct RetryOptions {
  client::ServerAddress server;
  std::string job_id, destination;
  bool all = false;
};

absl::Status Retry(const RetryOptions& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  v1::RetryTransfersRequest request;
  request.set_job_id(options.job_id);
  request.set_destination(options.destination);
  request.set_all(options.all);
  ISO_ASSIGN_OR_RETURN(const int count, client::TransferClient(channel).Retry(request));
  std::printf("%d instances are tried again\n", count);
  return absl::OkStatus();
}

}  // namespace

void AddSendCommand(flags::Command program) {
  auto options = std::make_shared<SendOptions>();
  flags::Command command =
      program.Subcommand("send", "Send a completed job to a DICOM destination");
  command.Footer(
      "The server sends it in the background and goes on after a restart; `isocenter transfers` "
      "follows it.");
  command.Add("job", options->job_id, "job id").Required().Type("JOB");
  command
      .Add("--to", options->destination,
           "AE title of a configured destination; not needed where there is only one")
      .Type("AE");
  AddServerFlags(command, options->server);
  command.Does([options] { return Send(*options); });
}

void AddRetryCommand(flags::Command program) {
  auto options = std::make_shared<RetryOptions>();
  flags::Command command =
      program.Subcommand("retry", "Try again to send what DICOM destinations have refused");
  flags::Option job = command.Add("job", options->job_id, "job id").Type("JOB");
  flags::Option to = command.Add("--to", options->destination, "only to this AE title").Type("AE");
  command.AddSwitch("--all", options->all, "everything that has failed").Excludes(job).Excludes(to);
  AddServerFlags(command, options->server);
  command.Does([options] { return Retry(*options); });
}

}  // namespace isocenter::cli
