// isocenter status: whether a server takes acquisitions; of several nodes, all of them.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
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

std::string GigaBytes(uint64_t bytes) {
  constexpr double kGiga = 1e9;
  return absl::StrFormat("%.1f", static_cast<double>(bytes) / kGiga);
}

/// Of the spool's disk and the archive's.
std::string FreeDisk(const v1::NodeStatus& status) {
  if (status.node().empty()) return "-";
  return absl::StrCat(GigaBytes(status.spool_free_bytes()), "/",
                      GigaBytes(status.archive_free_bytes()));
}

/// Whose copies are kept here, and who keeps those of this node.
std::string Copies(const v1::NodeStatus& status) {
  if (!status.has_replication()) return "-";
  const v1::NodeReplication& replication = status.replication();
  std::vector<std::string> parts;
  for (const v1::NodeOrigin& origin : replication.origin()) {
    std::string part = absl::StrCat(origin.copies(), " of ", Plain(origin.node()));
    if (origin.orphans() > 0) absl::StrAppend(&part, " (", origin.orphans(), " LOST)");
    if (origin.being_taken() > 0)
      absl::StrAppend(&part, " (", origin.being_taken(), " taken over)");
    parts.push_back(std::move(part));
  }
  if (!replication.keeper().empty()) {
    parts.push_back(absl::StrCat("own at ", Plain(replication.keeper()),
                                 replication.keeper_reached() ? "" : " NOT REACHED"));
    if (replication.degraded_jobs() > 0) {
      parts.push_back(absl::StrCat(replication.degraded_jobs(), " jobs here alone"));
    }
  }
  return absl::StrJoin(parts, ", ");
}

/// A node, and what it has said itself, or another one knows of it.
struct Shown {
  std::string name;
  absl::StatusOr<v1::NodeStatus> status;  // or why there is none
  std::string told_by;                    // which node knows it; empty: it has said so itself
  std::optional<google::protobuf::Timestamp> seen;  // when it answered that node last
  bool is_asked = true;                             // by anybody
};

TableRow RowOf(const Shown& shown) {
  if (!shown.status.ok()) {
    const std::string why = Plain(shown.status.status().message());
    return {shown.name, shown.is_asked ? "away" : "not asked", "-", "-", "-", "-", "-", "-", "-",
            why};
  }
  const v1::NodeStatus& status = *shown.status;
  return {shown.name,
          StateOf(status),
          status.station_name().empty() ? "-" : Plain(absl::StrJoin(status.station_name(), ",")),
          absl::StrCat(status.active_jobs(), "/", status.max_active_jobs()),
          absl::StrCat(status.queue_chunks()),
          Plain(Devices(status)),
          FreeDisk(status),
          Copies(status),
          Plain(status.version()),
          Plain(Reasons(status))};
}

nlohmann::ordered_json JsonOf(const Shown& shown) {
  nlohmann::ordered_json json{{"node", shown.name}, {"reachable", shown.status.ok()}};
  if (!shown.told_by.empty()) json["told_by"] = shown.told_by;
  if (shown.seen) json["seen_time"] = JsonTime(*shown.seen);
  if (shown.status.ok()) {
    json.update(ToJson(*shown.status));
  } else {
    json["error_message"] = std::string(shown.status.status().message());
  }
  return json;
}

/// What `teller` knows of another node.
Shown ToldBy(const std::string& teller, const v1::NodePeer& peer) {
  Shown shown{.name = Plain(peer.node()),
              .status = peer.status(),
              .told_by = teller,
              .is_asked = !peer.address().empty()};
  if (peer.has_seen_time()) shown.seen = peer.seen_time();
  if (peer.reachable()) return shown;
  std::string why = peer.error();
  if (shown.seen) absl::StrAppend(&why, "; ", teller, " saw it last at ", LocalTime(*shown.seen));
  if (shown.is_asked && !shown.seen)
    absl::StrAppend(&why, "; ", teller, " has not seen it since its start");
  shown.status = absl::UnavailableError(why);
  return shown;
}

/// All nodes that have answered, or that those know of, each once: what a node says itself before
/// what is known of it, and a node that one of the others reaches before one that says it is away.
std::vector<Shown> ShownOf(const std::vector<NodeAnswer>& answers) {
  std::vector<Shown> all;
  const auto named = [&](const std::string& name) {
    return std::ranges::find(all, name, &Shown::name);
  };
  for (const NodeAnswer& answer : answers) {
    const bool names_itself = answer.value.ok() && !answer.value->node().empty();
    all.push_back(
        {.name = names_itself ? Plain(answer.value->node()) : answer.node, .status = answer.value});
  }
  for (const NodeAnswer& answer : answers) {
    if (!answer.value.ok()) continue;
    for (const v1::NodePeer& peer : answer.value->peer()) {
      Shown told = ToldBy(Plain(answer.value->node()), peer);
      const auto known = named(told.name);
      if (known == all.end()) {
        all.push_back(std::move(told));
        continue;
      }
      if (known->told_by.empty() && !known->status.ok() && !told.status.ok() && told.seen) {
        // Not reached from here either: since when is what another node knows.
        *known = std::move(told);
      } else if (!known->told_by.empty() && !known->status.ok() &&
                 (told.status.ok() || !known->is_asked)) {
        *known = std::move(told);
      }
    }
  }
  return all;
}

absl::Status ShowOne(const v1::NodeStatus& status, const JsonOutput& json) {
  std::string text = NodeText(status);
  for (const v1::NodeDevice& device : status.device()) text += DeviceText(device);
  if (status.has_access()) text += AccessText(status.access());
  if (status.has_replication()) text += ReplicationText(status.replication());
  return json.Report(text, ToJson(status));
}

absl::Status Show(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  const std::vector<NodeAnswer> answers = cluster.AskAll<v1::NodeStatus>(
      [](const client::ServiceChannel& channel) { return client::NodeClient(channel).Status(); });
  if (NoneOf(answers)) return Completeness(answers);
  const std::vector<Shown> all = ShownOf(answers);
  const bool knows_others = std::ranges::any_of(
      all, [](const Shown& shown) { return !shown.told_by.empty() && shown.is_asked; });
  if (cluster.alone() && (!knows_others || !options.server.node.empty())) {
    return ShowOne(*answers.front().value, options.json);
  }
  std::vector<TableRow> rows = {{"NODE", "STATE", "ROOMS", "JOBS", "QUEUE", "DEVICES", "FREE GB",
                                 "COPIES", "VERSION", "WHY NOT"}};
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  std::vector<NodeAnswer> asked;
  for (const Shown& shown : all) {
    rows.push_back(RowOf(shown));
    nodes.push_back(JsonOf(shown));
    if (shown.is_asked) asked.push_back({shown.name, shown.status});
  }
  ISO_RETURN_IF_ERROR(options.json.Report(FormatTable(rows), {{"nodes", std::move(nodes)}}));
  return Completeness(asked);
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
      "Of several nodes a row each: those behind --server, and those that they know "
      "(cluster.peer). "
      "ROOMS:\n"
      "whose scans are under way there; JOBS: active, and the most; QUEUE: units of work that wait "
      "for a\n"
      "device; GUPS: giga voxel updates per second; FREE GB: on the disks of the spool and of the "
      "archive;\n"
      "COPIES: of other nodes' frames, and who keeps the own. --node: that one alone, with\n"
      "how callers prove who they are.\n"
      "Exit code 0: told, also of a node that is drained or not ready; 3: not all nodes "
      "answered; 6: none did.\n"
      "A script that asks whether a scan can begin: `isocenter health`.");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Show(*options); });
}

}  // namespace isocenter::cli
