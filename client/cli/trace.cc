// isocenter trace: what the devices did for a job, and when.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/formats/destination.h"
#include "client/formats/file.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  std::filesystem::path out;
};

absl::Status Trace(const Options& options) {
  const bool on_standard_output = options.out == "-";
  if (!on_standard_output) {
    ISO_RETURN_IF_ERROR(
        formats::CheckFileDestination({.flag = "--out", .path = options.out, .is_json = true}));
  }
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  ISO_ASSIGN_OR_RETURN(const std::string trace, client::JobClient(channel).Trace(options.job_id));
  if (on_standard_output) {
    std::fputs(trace.c_str(), stdout);
    return absl::OkStatus();
  }
  ISO_RETURN_IF_ERROR(formats::WriteText(options.out, trace));
  std::printf("%s\n", options.out.c_str());
  ISO_ASSIGN_OR_RETURN(const v1::Job job, client::JobClient(channel).Get(options.job_id));
  if (!job.trace_parent().empty()) {
    std::printf("distributed trace: %s\n", job.trace_parent().c_str());
  }
  return absl::OkStatus();
}

}  // namespace

void AddTraceCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand(
      "trace", "Write what the devices did for a job, as JSON that ui.perfetto.dev opens");
  command.Footer(
      "Example:\n  isocenter trace JOB --out trace.json\n"
      "The plan that the node made stands in it, as otherData.plan. Where the node makes "
      "distributed traces, that of the job is named as W3C traceparent.");
  AddJobArgument(command, options->job_id).Required();
  command.Add("--out", options->out, "file to write; -: standard output").Required().Type("FILE");
  AddServerFlags(command, options->server);
  command.Does([options] { return Trace(*options); });
}

}  // namespace isocenter::cli
