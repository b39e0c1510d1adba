#include "client/cli/options/known_names.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <set>
#include <string>

#include "client/calibration_client.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/flags/command.h"
#include "client/job_client.h"
#include "client/transfer_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

constexpr int kMostRecords = 200;  // that are asked for, the newest
constexpr unsigned kPatienceSeconds = 1;

using Names = std::set<std::string>;

absl::StatusOr<Names> NamesAt(const client::ServiceChannel& service, const std::string& kind) {
  Names names;
  if (kind == "protocol") {
    ISO_ASSIGN_OR_RETURN(const auto answer, client::JobClient(service).ListProtocols());
    for (const auto& protocol : answer.protocol()) names.insert(protocol.name());
  } else if (kind == "calibration") {
    ISO_ASSIGN_OR_RETURN(const auto answer, client::CalibrationClient(service).List({}));
    for (const auto& set : answer.calibration()) names.insert(set.label().name());
  } else if (kind == "destination") {
    ISO_ASSIGN_OR_RETURN(const auto known, client::TransferClient(service).Destinations());
    for (const v1::Destination& destination : known) names.insert(destination.name());
  } else {
    v1::ListJobsRequest filter;
    if (kind == "completed") filter.add_state(v1::JOB_STATE_COMPLETED);
    ISO_ASSIGN_OR_RETURN(const auto jobs, client::JobClient(service).List(filter, kMostRecords));
    for (const v1::Job& job : jobs) {
      if (kind == "active" && client::HasEnded(job)) continue;
      names.insert(kind == "station" ? job.station_name() : job.job_id());
    }
  }
  return names;
}

absl::Status Print(const client::ServerAddress& server, const std::string& kind) {
  ISO_ASSIGN_OR_RETURN(const client::Cluster cluster, FindCluster(server));
  const auto answers = cluster.AskAll<Names>(
      [&](const client::ServiceChannel& service) { return NamesAt(service, kind); });
  Names all;
  for (const auto& answer : answers) {
    if (answer.value.ok()) all.insert(answer.value->begin(), answer.value->end());
  }
  for (const std::string& name : all) {
    if (!name.empty()) std::puts(name.c_str());
  }
  std::fflush(stdout);  // before the channels end, which may take what is left of the patience
  return absl::OkStatus();
}

}  // namespace

int PrintKnownNames(int count, const char* const* arguments) {
  std::signal(SIGALRM, [](int) { _exit(0); });
  alarm(kPatienceSeconds);
  flags::Program program("isocenter", "", "Names for completion");
  flags::Command root = program.root();
  std::string kind;
  client::ServerAddress server;
  root.Add("kind", kind, "of the names")
      .Required()
      .OneOf({"job", "completed", "active", "protocol", "station", "calibration", "destination"});
  AddServerFlags(root, server);
  root.SubcommandIsOptional();
  if (!program.Parse(count, arguments)) (void)Print(server, kind);
  return 0;
}

}  // namespace isocenter::cli
