// isocenter delete: removes a job with its volume and DICOM objects.
#include <memory>

#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  bool force = false;
};

absl::Status Delete(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  return client::JobClient(channel).Delete(options.job_id, options.force);
}

}  // namespace

void AddDeleteCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command =
      program.Subcommand("delete", "Remove an ended job with its volume and DICOM objects");
  command.Add("job", options->job_id, "job id").Required().Type("JOB");
  command.AddSwitch("--force", options->force,
                    "also when DICOM destinations have not confirmed that they have it");
  AddServerFlags(command, options->server);
  command.Does([options] { return Delete(*options); });
}

}  // namespace isocenter::cli
