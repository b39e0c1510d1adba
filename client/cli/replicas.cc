// isocenter replicas: copies of other nodes' frames, by hand.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
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

struct Options {
  client::ServerAddress server;
  std::string job_id;
  bool force = false;
  JsonOutput json;
};

using Answer = client::NodeAnswer<v1::ListReplicasResponse>;

/// A node that is not a keeper has none.
std::vector<Answer> AskAll(const client::Cluster& cluster) {
  return cluster.AskAll<v1::ListReplicasResponse>([](const client::ServiceChannel& channel) {
    absl::StatusOr<v1::ListReplicasResponse> found = client::NodeClient(channel).Replicas();
    return absl::IsUnimplemented(found.status()) ? v1::ListReplicasResponse() : found;
  });
}

std::string NameOf(v1::ReplicaState state) {
  return absl::AsciiStrToLower(
      std::string(absl::StripPrefix(v1::ReplicaState_Name(state), "REPLICA_STATE_")));
}

TableRow RowOf(const std::string& node, const v1::Replica& replica) {
  return {replica.job_id(),
          node,
          Plain(replica.origin().node()),
          NameOf(replica.state()),
          absl::StrCat(replica.frames_present(), "/", replica.frames(),
                       replica.finished() ? " all" : ""),
          absl::StrFormat("%.0f s", replica.silent_seconds()),
          replica.error().empty() ? "-" : Plain(replica.error())};
}

nlohmann::ordered_json ToJson(const std::string& node, const v1::Replica& replica) {
  return {{"job_id", replica.job_id()},
          {"node", node},
          {"origin", replica.origin().node()},
          {"spool_id", replica.origin().spool_id()},
          {"state", NameOf(replica.state())},
          {"frames", replica.frames()},
          {"frames_present", replica.frames_present()},
          {"gaps", replica.gaps()},
          {"finished", replica.finished()},
          {"silent_seconds", replica.silent_seconds()},
          {"error", replica.error()}};
}

/// Copies of one job, or of all (`job_id` is empty).
absl::Status Show(const Options& options, const std::string& job_id) {
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  const std::vector<Answer> answers = AskAll(cluster);
  const absl::Status completeness = Completeness(answers);
  if (NoneOf(answers)) return completeness;
  std::vector<TableRow> rows = {{"JOB", "KEPT BY", "OF", "STATE", "FRAMES", "SILENT", "WHY NOT"}};
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Answer& answer : answers) {
    if (!answer.value.ok()) continue;
    for (const v1::Replica& replica : answer.value->replica()) {
      if (!job_id.empty() && replica.job_id() != job_id) continue;
      rows.push_back(RowOf(answer.node, replica));
      all.push_back(ToJson(answer.node, replica));
    }
  }
  if (!job_id.empty() && all.empty() && completeness.ok()) {
    return absl::NotFoundError(absl::StrCat("no node keeps a copy of job '", job_id, "'"));
  }
  ISO_RETURN_IF_ERROR(options.json.Report(FormatTable(rows), {{"replicas", std::move(all)}}));
  return completeness;
}

absl::Status List(const Options& options) { return Show(options, ""); }
absl::Status ShowOne(const Options& options) { return Show(options, options.job_id); }

/// The node that keeps the copy. Errors: NOT_FOUND, UNAVAILABLE (one that does not answer may be
/// it), INVALID_ARGUMENT (several are).
absl::StatusOr<client::ClusterNode> KeeperOf(const client::Cluster& cluster,
                                             const std::string& job_id) {
  const std::vector<Answer> answers = AskAll(cluster);
  std::vector<std::string> names;
  std::optional<client::ClusterNode> keeper;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].value.ok()) continue;
    const auto& kept = answers[i].value->replica();
    if (std::ranges::find(kept, job_id, &v1::Replica::job_id) == kept.end()) continue;
    names.push_back(answers[i].node);
    keeper = cluster.nodes()[i];
  }
  if (names.size() == 1) return *keeper;
  if (names.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("several nodes keep a copy of job '", job_id,
                                                   "'; legal is --node with one of ",
                                                   absl::StrJoin(names, ", ")));
  }
  const absl::Status completeness = Completeness(answers);
  if (!completeness.ok()) return absl::UnavailableError(completeness.message());
  return absl::NotFoundError(absl::StrCat("no node keeps a copy of job '", job_id,
                                          "'; isocenter replicas list shows those that are there"));
}

absl::Status Take(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  ISO_ASSIGN_OR_RETURN(const client::ClusterNode keeper, KeeperOf(cluster, options.job_id));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, keeper.channel);
  ISO_RETURN_IF_ERROR(client::NodeClient(channel).TakeReplica(options.job_id));
  return options.json.Report(
      absl::StrCat("job ", options.job_id, " is taken over by ", keeper.name,
                   "; isocenter watch shows how it goes on, isocenter replicas show why it does "
                   "not\n"),
      {{"job_id", options.job_id}, {"node", keeper.name}, {"taken", true}});
}

absl::Status Drop(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  ISO_ASSIGN_OR_RETURN(const client::ClusterNode keeper, KeeperOf(cluster, options.job_id));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel, keeper.channel);
  ISO_RETURN_IF_ERROR(client::NodeClient(channel).DropReplica(options.job_id, options.force));
  return options.json.Report(
      absl::StrCat("the copy of job ", options.job_id, " at ", keeper.name, " is dropped\n"),
      {{"job_id", options.job_id}, {"node", keeper.name}, {"dropped", true}});
}

}  // namespace

void AddReplicasCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand(
      "replicas", "Copies of frames that nodes keep for each other, until their jobs have ended");
  command.Footer(
      "Examples:\n  isocenter replicas list\n  isocenter replicas take JOB --token-file "
      "operator.token\n  isocenter replicas drop JOB --force --token-file administrator.token\n"
      "KEPT BY: the node with the copy; OF: whose job it is; SILENT: since that node was heard of; "
      "FRAMES:\nthat the copy has, \"all\" when it needs no more; WHY NOT: why the last attempt to "
      "take it over failed.");
  const auto add = [&](const char* name, const char* help, absl::Status (*does)(const Options&)) {
    flags::Command sub = command.Subcommand(name, help);
    o.json.AddFlag(sub);
    AddServerFlags(sub, o.server);
    sub.Does([=] {
      if (absl::Status s = options->json.Check(); !s.ok()) return s;
      return does(*options);
    });
    return sub;
  };
  const auto add_of_job = [&](const char* name, const char* help,
                              absl::Status (*does)(const Options&)) {
    flags::Command sub = add(name, help, does);
    sub.Add("job", o.job_id, "whose copy").Required().Type("JOB");
    return sub;
  };
  add("list", "List them, of all nodes that answer", List);
  add_of_job("show", "Show those of one job", ShowOne);
  add_of_job("take", "Have the keeper go on with the job of a node that is lost, now", Take);
  add_of_job("drop", "Remove a copy of a node that is lost, for good", Drop)
      .AddSwitch("--force", o.force, "although its frames may be nowhere else: needed");
}

}  // namespace isocenter::cli
