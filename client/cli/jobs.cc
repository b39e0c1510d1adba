// isocenter jobs: what the server has done and is doing.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/output/job_text.h"
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
          job.error_message()};
}

absl::Status Jobs(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
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
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs,
                       client::JobClient(channel).List(filter, options.limit));
  if (options.ids) {
    for (const v1::Job& job : jobs) std::puts(job.job_id().c_str());
    return absl::OkStatus();
  }
  std::vector<TableRow> rows = {{"JOB", "STATE", "CLASS", "CREATED", "PROTOCOL", "STATION",
                                 "FRAMES", "AFTER LAST", "TOTAL", "GUPS", "ERROR"}};
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const v1::Job& job : jobs) {
    rows.push_back(RowOf(job));
    all.push_back(ToJson(job));
  }
  if (jobs.empty()) std::fputs("isocenter: no job matches\n", stderr);
  return options.json.Report(FormatTable(rows), all);
}

}  // namespace

void AddJobsCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand("jobs", "List jobs, newest first");
  command.Footer(
      "Examples:\n"
      "  isocenter jobs --state receiving --state reconstructing\n"
      "  isocenter jobs --json jobs.json\n"
      "  isocenter fetch \"$(isocenter jobs --ids --limit 1)\" --out newest.mha\n"
      "AFTER LAST: from the last frame to the volume; TOTAL: from the header to the stored result; "
      "GUPS: giga voxel\n"
      "updates (voxels times frames) per second of back-projection.");
  std::vector<std::string> names;
  for (int s = v1::JobState_MIN + 1; s <= v1::JobState_MAX; ++s) {
    names.push_back(StateName(static_cast<v1::JobState>(s)));
  }
  command.Add("--state", o.states, "only jobs in this state; may be repeated").OneOf(names);
  command.Add("--protocol", o.protocol, "only jobs of this protocol");
  command.Add("--accession", o.accession, "only jobs of this accession number");
  command.Add("--station", o.station, "only jobs of this station");
  command.Add("--limit", o.limit, "at most this many").ShowDefault().Range(1, 1000000);
  const flags::Option ids =
      command.AddSwitch("--ids", o.ids, "print the ids alone, for other commands");
  o.json.AddFlag(command).Excludes(ids);
  AddServerFlags(command, o.server);
  command.Does([options] { return Jobs(*options); });
}

}  // namespace isocenter::cli
