// isocenter status: whether a server takes acquisitions; of several nodes, all of them.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/node_text.h"
#include "client/cli/output/table.h"
#include "client/node_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

using NodeAnswer = client::NodeAnswer<v1::NodeStatus>;

struct Options {
  client::ServerAddress server;
  JsonOutput json;
};

std::string StateOf(const v1::NodeStatus& status) {
  if (status.ready()) return "ready";
  return status.has_drain() ? "drained" : "not ready";
}

std::string Reasons(const v1::NodeStatus& status) {
  return absl::StrJoin(
      status.reason(), "; ",
      [](std::string* text, const v1::NotReadyReason& reason) { text->append(reason.message()); });
}

std::string Devices(const v1::NodeStatus& status) {
  return absl::StrJoin(status.device(), ", ", [](std::string* text, const v1::NodeDevice& device) {
    absl::StrAppend(text, device.name(),
                    device.healthy() ? absl::StrFormat(" %.1f GUPS", device.speed_gups())
                                     : std::string(" failed"));
  });
}

TableRow RowOf(const NodeAnswer& answer) {
  if (!answer.value.ok()) {
    return {answer.node, "away", "-", "-",
            "-",         "-",    "-", std::string(answer.value.status().message())};
  }
  const v1::NodeStatus& status = *answer.value;
  return {answer.node,
          StateOf(status),
          status.station_name().empty() ? "-" : absl::StrJoin(status.station_name(), ","),
          absl::StrCat(status.active_jobs(), "/", status.max_active_jobs()),
          absl::StrCat(status.queue_chunks()),
          Devices(status),
          status.version(),
          Reasons(status)};
}

nlohmann::ordered_json JsonOf(const NodeAnswer& answer) {
  nlohmann::ordered_json json{{"node", answer.node}, {"reachable", answer.value.ok()}};
  if (answer.value.ok()) {
    json.update(ToJson(*answer.value));
  } else {
    json["error_message"] = std::string(answer.value.status().message());
  }
  return json;
}

absl::Status ShowOne(const v1::NodeStatus& status, const JsonOutput& json) {
  std::string text = NodeText(status);
  for (const v1::NodeDevice& device : status.device()) text += DeviceText(device);
  return json.Report(text, ToJson(status));
}

absl::Status Show(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  const std::vector<NodeAnswer> answers = cluster.AskAll<v1::NodeStatus>(
      [](const client::ServiceChannel& channel) { return client::NodeClient(channel).Status(); });
  absl::Status completeness = Completeness(answers);
  if (NoneOf(answers)) return completeness;
  if (cluster.alone()) return ShowOne(*answers.front().value, options.json);
  std::vector<TableRow> rows = {
      {"NODE", "STATE", "ROOMS", "JOBS", "QUEUE", "DEVICES", "VERSION", "WHY NOT"}};
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const NodeAnswer& answer : answers) {
    rows.push_back(RowOf(answer));
    nodes.push_back(JsonOf(answer));
  }
  ISO_RETURN_IF_ERROR(options.json.Report(FormatTable(rows), {{"nodes", std::move(nodes)}}));
  return completeness;
}

}  // namespace

void AddStatusCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand(
      "status",
      "Whether a server takes acquisitions, and why not; its devices; of several nodes all");
  command.Footer(
      "Examples:\n"
      "  isocenter status\n"
      "  isocenter status --server recon1:50051,recon2:50051 --json\n"
      "Of several nodes behind --server a row each. ROOMS: whose scans are under way there; JOBS: "
      "active, and\n"
      "the most; QUEUE: units of work that wait for a device; GUPS: giga voxel updates per "
      "second.\n"
      "Exit code 3: not all nodes answered; 1: none did.");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Show(*options); });
}

}  // namespace isocenter::cli
