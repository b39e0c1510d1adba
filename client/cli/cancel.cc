// isocenter cancel: stops a job.
#include <memory>

#include "client/cli/commands.h"
#include "client/cli/server_flags.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
};

absl::Status Cancel(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  return client::JobClient(channel).Cancel(options.job_id).status();
}

}  // namespace

void AddCancelCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("cancel", "Stop a job that has not ended");
  command.add_option("job", options->job_id, "job id")->required()->type_name("JOB");
  AddServerFlags(command, options->server);
  command.callback([options, &action] { action = [options] { return Cancel(*options); }; });
}

}  // namespace isocenter::cli
