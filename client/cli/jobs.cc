// isocenter jobs: what the server has done and is doing.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/job_warnings.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/table.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::vector<std::string> states;
  std::string protocol, accession, station;
  int limit = 50;
  bool ids = false;
  JsonOutput json;
};

/// A job, and the node that told of it.
struct NodeJob {
  std::string node;
  v1::Job job;
};

/// Why it failed, what it waits for, else the worst that there is to know of its volume.
std::string NoteOf(const v1::Job& job) {
  if (job.has_awaits_console_until_time()) {
    return absl::StrCat("waits for its console until ", LocalTime(job.awaits_console_until_time()));
  }
  return job.error_message().empty() ? WarningNote(job) : job.error_message();
}

TableRow RowOf(const v1::Job& job) {
  const v1::JobResult& result = job.result();
  // Refinements and subtractions have no last frame, and no speed of back-projection.
  const double after_last = result.seconds_after_last_frame(), gups = result.kernel_gups();
  const double total = result.timings().total_seconds();
  return {job.job_id(),
          StateName(job.state()),
          ClassName(job.job_class()),
          LocalTime(job.create_time()),
          job.protocol(),
          job.station_name(),
          absl::StrCat(job.progress().frames_received(), "/", job.progress().frames_total()),
          after_last > 0 ? absl::StrFormat("%.3f s", after_last) : "-",
          total > 0 ? absl::StrFormat("%.1f s", total) : "-",
          gups > 0 ? absl::StrFormat("%.2f", gups) : "-",
          NoteOf(job)};
}

v1::ListJobsRequest FilterOf(const Options& options) {
  v1::ListJobsRequest filter;
  for (const std::string& name : options.states) {
    for (int s = v1::JobState_MIN + 1; s <= v1::JobState_MAX; ++s) {
      if (StateName(static_cast<v1::JobState>(s)) == name) {
        filter.add_state(static_cast<v1::JobState>(s));
      }
    }
  }
  filter.set_protocol(options.protocol);
  filter.set_accession_number(options.accession);
  filter.set_station_name(options.station);
  return filter;
}

/// The newest `limit` of all nodes, newest first.
std::vector<NodeJob> Merged(const std::vector<client::NodeAnswer<std::vector<v1::Job>>>& answers,
                            int limit) {
  std::vector<NodeJob> jobs;
  for (const auto& [node, list] : answers) {
    if (!list.ok()) continue;
    for (const v1::Job& job : *list) jobs.push_back({node, job});
  }
  if (answers.size() > 1) {
    std::ranges::stable_sort(jobs, std::greater(), [](const NodeJob& entry) {
      return std::pair(entry.job.create_time().seconds(), entry.job.create_time().nanos());
    });
  }
  if (static_cast<int>(jobs.size()) > limit) jobs.resize(limit);
  return jobs;
}

/// Each once: after a failover several nodes have a job.
void PrintIds(const std::vector<NodeJob>& jobs) {
  std::set<std::string> printed;
  for (const auto& [node, job] : jobs) {
    if (printed.insert(job.job_id()).second) std::puts(job.job_id().c_str());
  }
}

absl::Status Jobs(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(options.server));
  const v1::ListJobsRequest filter = FilterOf(options);
  const auto answers =
      cluster.AskAll<std::vector<v1::Job>>([&](const client::ServiceChannel& channel) {
        return client::JobClient(channel).List(filter, options.limit);
      });
  absl::Status completeness = Completeness(answers);
  if (NoneOf(answers)) return completeness;
  const std::vector<NodeJob> jobs = Merged(answers, options.limit);
  if (options.ids) {
    PrintIds(jobs);
    return completeness;
  }
  std::vector<TableRow> rows = {{"JOB", "STATE", "CLASS", "CREATED", "PROTOCOL", "STATION",
                                 "FRAMES", "AFTER LAST", "TOTAL", "GUPS", "ERROR OR WARNINGS"}};
  if (!cluster.alone()) rows[0].insert(rows[0].begin() + 1, "NODE");
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [node, job] : jobs) {
    rows.push_back(RowOf(job));
    all.push_back(ToJson(job));
    if (cluster.alone()) continue;
    rows.back().insert(rows.back().begin() + 1, node);
    all.back()["node"] = node;
  }
  if (jobs.empty()) std::fputs("isocenter: no job matches\n", stderr);
  ISO_RETURN_IF_ERROR(options.json.Report(FormatTable(rows), all));
  return completeness;
}

}  // namespace

void AddJobsCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand("jobs", "List jobs, newest first, of all nodes");
  command.Footer(
      "Examples:\n"
      "  isocenter jobs --state receiving --state reconstructing\n"
      "  isocenter jobs --json jobs.json\n"
      "  isocenter fetch \"$(isocenter jobs --ids --limit 1)\" --out newest.mha\n"
      "AFTER LAST: from the last frame to the volume; TOTAL: from the header to the stored result; "
      "GUPS: giga voxel "
      "updates (voxels times frames) per second of back-projection.\n"
      "ERROR OR WARNINGS: of several warnings the worst, by its kind; `isocenter watch JOB` tells "
      "all.\n"
      "Exit code 3: not all nodes answered, and their jobs are missing; 6: none did.");
  std::vector<std::string> names;
  for (int s = v1::JobState_MIN + 1; s <= v1::JobState_MAX; ++s) {
    names.push_back(StateName(static_cast<v1::JobState>(s)));
  }
  command.Add("--state", o.states, "only jobs in these states, with commas or repeated")
      .Separator(',')
      .OneOf(names);
  command.Add("--protocol", o.protocol, "only jobs of this protocol");
  command.Add("--accession", o.accession, "only jobs of this accession number");
  command.Add("--station", o.station, "only jobs of this station").Identifier();
  command.Add("--limit", o.limit, "at most this many").ShowDefault().Range(1, 1000000);
  const flags::Option ids =
      command.AddSwitch("--ids", o.ids, "print the ids alone, for other commands");
  o.json.AddFlag(command).Excludes(ids);
  AddServerFlags(command, o.server);
  command.Does([options] { return Jobs(*options); });
}

}  // namespace isocenter::cli
