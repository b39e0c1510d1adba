// isocenter protocols: the recipes that the server offers.
#include <google/protobuf/text_format.h>

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/output/table.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string name;
};

absl::Status Protocols(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::ListProtocolsResponse protocols,
                       client::JobClient(channel).ListProtocols());
  std::vector<TableRow> rows = {{"PROTOCOL", "DEFAULT", "DESCRIPTION"}};
  for (const v1::ReconstructionProtocol& protocol : protocols.protocol()) {
    if (!options.name.empty() && protocol.name() == options.name) {
      std::string text;
      google::protobuf::TextFormat::PrintToString(protocol, &text);
      std::fputs(text.c_str(), stdout);
      return absl::OkStatus();
    }
    rows.push_back({protocol.name(), protocol.name() == protocols.default_protocol() ? "yes" : "",
                    protocol.description()});
  }
  if (!options.name.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no protocol '", options.name,
                                            "'; `isocenter protocols` lists them"));
  }
  std::fputs(FormatTable(rows).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

void AddProtocolsCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command =
      program.Subcommand("protocols", "List reconstruction protocols, or print one");
  command.Add("name", options->name, "print all of this protocol, as for the configuration file");
  AddServerFlags(command, options->server);
  command.Does([options] { return Protocols(*options); });
}

}  // namespace isocenter::cli
