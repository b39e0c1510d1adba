// isocenter drain, resume and status: whether a server takes new acquisitions.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/node_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string reason;
};

void Print(const v1::NodeStatus& status) {
  if (status.ready()) std::printf("%s is ready\n", status.server().c_str());
  for (const v1::NotReadyReason& reason : status.reason()) {
    std::printf("%s is not ready: %s\n", status.server().c_str(), reason.message().c_str());
  }
  std::printf("active jobs: %u\n", status.active_jobs());
}

/// The user of this machine, for the server's log.
std::string Author() {
  const char* user = std::getenv("USER");
  return user == nullptr ? "" : user;
}

absl::Status Show(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status, client::NodeClient(channel).Status());
  Print(status);
  for (const v1::NodeDevice& device : status.device()) {
    if (device.healthy()) {
      std::printf("%s: healthy, %.1f GUPS\n", device.name().c_str(), device.speed_gups());
    } else {
      std::printf("%s: failed: %s\n", device.name().c_str(), device.quarantine_reason().c_str());
    }
  }
  return absl::OkStatus();
}

absl::Status Drain(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status,
                       client::NodeClient(channel).Drain(options.reason, Author()));
  Print(status);
  return absl::OkStatus();
}

absl::Status Resume(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  ISO_ASSIGN_OR_RETURN(const v1::NodeStatus status, client::NodeClient(channel).Resume(Author()));
  Print(status);
  return absl::OkStatus();
}

}  // namespace

void AddNodeCommands(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command drain = program.Subcommand(
      "drain", "Have a server refuse new acquisitions; active jobs go on to their end");
  drain.Add("--reason", options->reason, "Shown to those who are refused");
  AddServerFlags(drain, options->server);
  drain.Does([options] { return Drain(*options); });

  flags::Command resume =
      program.Subcommand("resume", "Have a drained server take acquisitions again");
  AddServerFlags(resume, options->server);
  resume.Does([options] { return Resume(*options); });

  flags::Command status =
      program.Subcommand("status", "Whether a server takes acquisitions, and why not; its devices");
  AddServerFlags(status, options->server);
  status.Does([options] { return Show(*options); });
}

}  // namespace isocenter::cli
