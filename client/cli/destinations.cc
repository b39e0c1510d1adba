// isocenter destinations: where results can be sent, and how it goes there.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/transfer_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

using List = std::vector<v1::Destination>;

struct Options {
  client::ServerAddress server;
  JsonOutput json;
};

const char* KindName(v1::DestinationKind kind) {
  return kind == v1::DESTINATION_KIND_STOW_RS ? "stow-rs" : "c-store";
}

/// "failing" while something waits that cannot be sent or is not committed to, "reached" where
/// something was taken.
const char* StateName(const v1::Destination& destination) {
  if (!destination.reason().empty()) return "failing";
  return destination.sent_count() > 0 ? "reached" : "not tried";
}

nlohmann::ordered_json ToJson(const std::string& node, const v1::Destination& d) {
  nlohmann::ordered_json json;
  if (!node.empty()) json["node"] = node;
  json.update({{"name", d.name()},
               {"kind", KindName(d.kind())},
               {"address", d.address()},
               {"state", StateName(d)},
               {"storage_commitment", d.storage_commitment()},
               {"queued_count", d.queued_count()},
               {"sending_count", d.sending_count()},
               {"sent_count", d.sent_count()},
               {"failed_count", d.failed_count()},
               {"attempts", d.attempts()},
               {"reason", d.reason()}});
  if (d.has_next_attempt_time()) json["next_attempt_time"] = JsonTime(d.next_attempt_time());
  return json;
}

TableRow RowOf(const v1::Destination& d) {
  return {d.name(),
          KindName(d.kind()),
          d.address(),
          StateName(d),
          absl::StrCat(d.queued_count() + d.sending_count()),
          absl::StrCat(d.sent_count()),
          absl::StrCat(d.failed_count()),
          d.has_next_attempt_time() ? LocalTime(d.next_attempt_time()) : "-",
          d.reason()};
}

absl::Status Destinations(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  const auto answers = cluster.AskAll<List>([](const client::ServiceChannel& channel) {
    return client::TransferClient(channel).Destinations();
  });
  const absl::Status completeness = Completeness(answers);
  if (NoneOf(answers)) return completeness;
  const bool several = answers.size() > 1;
  std::vector<TableRow> rows = {{"DESTINATION", "KIND", "ADDRESS", "STATE", "WAITING", "SENT",
                                 "FAILED", "NEXT TRY", "REASON"}};
  if (several) rows.front().insert(rows.front().begin(), "NODE");
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [node, answer] : answers) {
    if (!answer.ok()) continue;
    for (const v1::Destination& destination : *answer) {
      all.push_back(ToJson(several ? node : "", destination));
      TableRow row = RowOf(destination);
      if (several) row.insert(row.begin(), node);
      rows.push_back(std::move(row));
    }
  }
  if (all.empty()) {
    std::fputs("isocenter: no destination is configured (dicom_node.destination)\n", stderr);
  }
  ISO_RETURN_IF_ERROR(options.json.Report(FormatTable(rows), all));
  return completeness;
}

}  // namespace

void AddDestinationsCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand(
      "destinations", "List where results can be sent, and how it goes there, of all nodes");
  command.Footer(
      "Examples:\n"
      "  isocenter destinations\n"
      "  isocenter send JOB --to PACS\n"
      "The state is 'failing' while something waits that cannot be sent, or was sent and is not "
      "committed to, else 'reached' where "
      "something was taken, and 'not tried' where nothing was sent yet.");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Destinations(*options); });
}

}  // namespace isocenter::cli
