// isocenter health: a probe for containers and scripts.
#include "client/health.h"

#include <memory>

#include "absl/time/time.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  double seconds = 3;
  JsonOutput json;
};

absl::Status Health(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  ISO_RETURN_IF_ERROR(client::CheckHealth(channel, absl::Seconds(options.seconds)));
  return options.json.Report("serving\n", {{"serving", true}});
}

}  // namespace

void AddHealthCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand(
      "health",
      "Exit with 0 when the server takes acquisitions, else with another code: for probes");
  command.Footer(
      "Example:\n"
      "  isocenter health --server recon1:50051 --timeout 1\n"
      "`isocenter status` says why a server takes none.");
  command.Add("--timeout", options->seconds, "how long to wait for the answer")
      .ShowDefault()
      .Seconds(0.1, 60);
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Health(*options); });
}

}  // namespace isocenter::cli
