// isocenter transfers: results on their way to DICOM destinations.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/transfer_text.h"
#include "client/transfer_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

using Answers = std::vector<client::NodeAnswer<std::vector<v1::Transfer>>>;

constexpr absl::Duration kBetweenLooks = absl::Seconds(1);

struct Options {
  client::ServerAddress server;
  std::string job_id, destination;
  std::vector<std::string> states;
  int limit = 50;
  bool watch = false;
  JsonOutput json;
};

v1::ListTransfersRequest FilterOf(const Options& options) {
  v1::ListTransfersRequest filter;
  filter.set_job_id(options.job_id);
  filter.set_destination(options.destination);
  for (int s = v1::TransferState_MIN + 1; s <= v1::TransferState_MAX; ++s) {
    const auto state = static_cast<v1::TransferState>(s);
    if (std::ranges::find(options.states, StateName(state)) != options.states.end()) {
      filter.add_state(state);
    }
  }
  return filter;
}

/// Nothing more happens by itself.
bool IsOver(const v1::Transfer& transfer) {
  return transfer.done() || transfer.state() == v1::TRANSFER_STATE_FAILED;
}

/// The newest `limit` of all nodes, newest first.
std::vector<v1::Transfer> Merged(const Answers& answers, int limit) {
  std::vector<v1::Transfer> transfers;
  for (const auto& [node, list] : answers) {
    if (list.ok()) transfers.insert(transfers.end(), list->begin(), list->end());
  }
  if (answers.size() > 1) {
    std::ranges::stable_sort(transfers, std::greater(), [](const v1::Transfer& transfer) {
      return std::pair(transfer.enqueue_time().seconds(), transfer.enqueue_time().nanos());
    });
  }
  if (static_cast<int>(transfers.size()) > limit) transfers.resize(limit);
  return transfers;
}

absl::Status Transfers(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  const v1::ListTransfersRequest filter = FilterOf(options);
  std::string shown;
  while (true) {
    const Answers answers =
        cluster.AskAll<std::vector<v1::Transfer>>([&](const client::ServiceChannel& channel) {
          return client::TransferClient(channel).List(filter, options.limit);
        });
    absl::Status completeness = Completeness(answers);
    if (NoneOf(answers)) return completeness;
    const std::vector<v1::Transfer> transfers = Merged(answers, options.limit);
    std::string text = TransferTable(transfers);
    if (!options.watch || std::ranges::all_of(transfers, IsOver)) {
      nlohmann::ordered_json all = nlohmann::ordered_json::array();
      for (const v1::Transfer& transfer : transfers) all.push_back(ToJson(transfer));
      if (transfers.empty() && completeness.ok() && !options.job_id.empty()) {
        ISO_RETURN_IF_ERROR(client::HoldersOfJob(cluster, options.job_id).status());
      }
      if (transfers.empty()) std::fputs("isocenter: no transfer matches\n", stderr);
      ISO_RETURN_IF_ERROR(options.json.Report(text == shown ? "" : text, all));
      return completeness;
    }
    if (text != shown) {
      std::fputs(text.c_str(), options.json.progress());
      std::fflush(options.json.progress());
      shown = std::move(text);
    }
    absl::SleepFor(kBetweenLooks);
  }
}

}  // namespace

void AddTransfersCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand(
      "transfers", "List results on their way to DICOM destinations, of all nodes");
  command.Footer(
      "Examples:\n  isocenter transfers --state failed\n  isocenter transfers --job JOB --watch");
  std::vector<std::string> names;
  for (int s = v1::TransferState_MIN + 1; s <= v1::TransferState_MAX; ++s) {
    names.push_back(StateName(static_cast<v1::TransferState>(s)));
  }
  command.Add("--job", o.job_id, "only of this job").Type("JOB");
  command.Add("--to", o.destination, "only to this destination").Type("AE");
  command.Add("--state", o.states, "only in these states, with commas or repeated")
      .Separator(',')
      .OneOf(names);
  command.Add("--limit", o.limit, "at most this many").ShowDefault().Range(1, 1000000);
  command.AddSwitch("--watch", o.watch, "again after every change, until nothing is on its way");
  o.json.AddFlag(command);
  AddServerFlags(command, o.server);
  command.Does([options] { return Transfers(*options); });
}

}  // namespace isocenter::cli
