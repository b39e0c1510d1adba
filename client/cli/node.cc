// isocenter drain, resume and status: whether a server takes new acquisitions.
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/output/json_output.h"
#include "client/node_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string reason;
  JsonOutput json;
};

std::string Text(const v1::NodeStatus& status) {
  std::string text;
  if (status.ready()) absl::StrAppend(&text, status.server(), " is ready\n");
  for (const v1::NotReadyReason& reason : status.reason()) {
    absl::StrAppend(&text, status.server(), " is not ready: ", reason.message(), "\n");
  }
  absl::StrAppend(&text, "active jobs: ", status.active_jobs(), "\n");
  return text;
}

std::string DeviceText(const v1::NodeDevice& device) {
  if (!device.healthy()) {
    return absl::StrCat(device.name(), ": failed: ", device.quarantine_reason(), "\n");
  }
  return absl::StrFormat("%s: healthy, %.1f GUPS (giga voxel updates per second)\n", device.name(),
                         device.speed_gups());
}

nlohmann::ordered_json ToJson(const v1::NodeStatus& status) {
  nlohmann::ordered_json json{{"server", status.server()},
                              {"version", status.version()},
                              {"backend", status.backend()},
                              {"start_time", JsonTime(status.start_time())},
                              {"ready", status.ready()},
                              {"active_jobs", status.active_jobs()},
                              {"max_active_jobs", status.max_active_jobs()},
                              {"reasons", nlohmann::ordered_json::array()},
                              {"devices", nlohmann::ordered_json::array()}};
  for (const v1::NotReadyReason& reason : status.reason()) {
    json["reasons"].push_back(reason.message());
  }
  for (const v1::NodeDevice& device : status.device()) {
    json["devices"].push_back({{"name", device.name()},
                               {"healthy", device.healthy()},
                               {"speed_gups", device.speed_gups()},
                               {"quarantine_reason", device.quarantine_reason()}});
  }
  return json;
}

/// The user of this machine, for the server's log.
std::string Author() {
  const char* user = std::getenv("USER");
  return user == nullptr ? "" : user;
}

absl::Status Show(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status, client::NodeClient(channel).Status());
  std::string text = Text(status);
  for (const v1::NodeDevice& device : status.device()) text += DeviceText(device);
  return options.json.Report(text, ToJson(status));
}

absl::Status Drain(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status,
                       client::NodeClient(channel).Drain(options.reason, Author()));
  return options.json.Report(Text(status), ToJson(status));
}

absl::Status Resume(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status, client::NodeClient(channel).Resume(Author()));
  return options.json.Report(Text(status), ToJson(status));
}

}  // namespace

void AddNodeCommands(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command drain = program.Subcommand(
      "drain", "Have a server refuse new acquisitions; active jobs go on to their end");
  drain.Footer("Example:\n  isocenter drain --reason \"new filter\" --token-file operator.token");
  drain.Add("--reason", options->reason, "shown to those who are refused").Type("TEXT");
  options->json.AddFlag(drain);
  AddServerFlags(drain, options->server);
  drain.Does([options] { return Drain(*options); });

  flags::Command resume =
      program.Subcommand("resume", "Have a drained server take acquisitions again");
  resume.Footer("Example:\n  isocenter resume --token-file operator.token");
  options->json.AddFlag(resume);
  AddServerFlags(resume, options->server);
  resume.Does([options] { return Resume(*options); });

  flags::Command status =
      program.Subcommand("status", "Whether a server takes acquisitions, and why not; its devices");
  status.Footer("Examples:\n  isocenter status\n  isocenter status --server recon1:50051 --json");
  options->json.AddFlag(status);
  AddServerFlags(status, options->server);
  status.Does([options] { return Show(*options); });
}

}  // namespace isocenter::cli
