// isocenter protocols: the recipes that the server offers.
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/job_client.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string name;
  JsonOutput json;
};

/// As the configuration file names the fields.
absl::StatusOr<nlohmann::ordered_json> ToJson(const v1::ReconstructionProtocol& protocol) {
  google::protobuf::util::JsonPrintOptions names;
  names.preserve_proto_field_names = true;
  std::string text;
  const auto printed = google::protobuf::util::MessageToJsonString(protocol, &text, names);
  if (!printed.ok()) return absl::InternalError(std::string(printed.message()));
  return nlohmann::ordered_json::parse(text);
}

absl::Status Protocols(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, AnyService(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::ListProtocolsResponse protocols,
                       client::JobClient(channel).ListProtocols());
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::vector<TableRow> rows = {{"PROTOCOL", "DEFAULT", "DESCRIPTION"}};
  for (const v1::ReconstructionProtocol& protocol : protocols.protocol()) {
    ISO_ASSIGN_OR_RETURN(nlohmann::ordered_json json, ToJson(protocol));
    json["is_default"] = protocol.name() == protocols.default_protocol();
    if (!options.name.empty() && protocol.name() == options.name) {
      std::string text;
      google::protobuf::TextFormat::PrintToString(protocol, &text);
      return options.json.Report(text, json);
    }
    all.push_back(std::move(json));
    rows.push_back({protocol.name(), protocol.name() == protocols.default_protocol() ? "yes" : "",
                    protocol.description()});
  }
  if (!options.name.empty()) {
    std::vector<std::string> names;
    for (const v1::ReconstructionProtocol& known : protocols.protocol()) {
      names.push_back(known.name());
    }
    return absl::NotFoundError(absl::StrCat("there is no protocol '", options.name,
                                            "'; there are: ", absl::StrJoin(names, ", "),
                                            DidYouMean(options.name, names)));
  }
  return options.json.Report(FormatTable(rows), all);
}

}  // namespace

void AddProtocolsCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command =
      program.Subcommand("protocols", "List reconstruction protocols, or print one");
  command.Footer(
      "Examples:\n"
      "  isocenter protocols\n"
      "  isocenter protocols fdk_smooth      all of its settings\n"
      "A protocol is a recipe: filter, grid, corrections, what refines the volume. "
      "docs/configuration.md says how to add one.");
  command.Add("name", options->name, "print all of this protocol, as for the configuration file")
      .Type("NAME");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Protocols(*options); });
}

}  // namespace isocenter::cli
