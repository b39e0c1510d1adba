// isocenter delete: removes a job with its volume and DICOM objects.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/json_output.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  bool force = false;
  JsonOutput json;
};

absl::Status Delete(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const std::vector<JobService> services,
                       ServicesOfJob(options.server, options.job_id));
  for (const JobService& service : services) {
    ISO_RETURN_IF_ERROR(client::JobClient(service.channel).Delete(options.job_id, options.force));
  }
  return options.json.Report(absl::StrCat("job ", options.job_id, " is deleted\n"),
                             {{"job_id", options.job_id}, {"deleted", true}});
}

}  // namespace

void AddDeleteCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command =
      program.Subcommand("delete", "Remove an ended job with its volume and DICOM objects");
  command.Footer(
      "Example:\n"
      "  isocenter delete JOB\n"
      "A volume that is deleted exists only where it was sent or fetched to.");
  AddJobArgument(command, options->job_id).Required();
  command.AddSwitch("--force", options->force,
                    "also when DICOM destinations have not confirmed that they have it");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Delete(*options); });
}

}  // namespace isocenter::cli
