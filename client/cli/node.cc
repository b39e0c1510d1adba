// isocenter drain and resume: whether a server takes new acquisitions.
#include <cstdlib>
#include <memory>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/node_text.h"
#include "client/node_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string reason;
  JsonOutput json;
};

/// The user of this machine, for the server's log.
std::string Author() {
  const char* user = std::getenv("USER");
  return user == nullptr ? "" : user;
}

absl::Status Drain(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, TheService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status,
                       client::NodeClient(channel).Drain(options.reason, Author()));
  return options.json.Report(NodeText(status), ToJson(status));
}

absl::Status Resume(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, TheService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status, client::NodeClient(channel).Resume(Author()));
  return options.json.Report(NodeText(status), ToJson(status));
}

}  // namespace

void AddNodeCommands(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command drain = program.Subcommand(
      "drain", "Have a server refuse new acquisitions; active jobs go on to their end");
  drain.Footer(
      "Example:\n  isocenter drain --node recon1 --reason \"new filter\" --token-file "
      "operator.token");
  drain.Add("--reason", options->reason, "shown to those who are refused").Type("TEXT");
  options->json.AddFlag(drain);
  AddServerFlags(drain, options->server);
  drain.Does([options] { return Drain(*options); });

  flags::Command resume =
      program.Subcommand("resume", "Have a drained server take acquisitions again");
  resume.Footer("Example:\n  isocenter resume --node recon1 --token-file operator.token");
  options->json.AddFlag(resume);
  AddServerFlags(resume, options->server);
  resume.Does([options] { return Resume(*options); });
}

}  // namespace isocenter::cli
