// isocenter watch: one job, live, until it has ended.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/options/job_argument.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/options/service.h"
#include "client/cli/output/going_on.h"
#include "client/cli/output/iteration_printer.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/preview_file.h"
#include "client/cli/output/state_printer.h"
#include "client/cli/output/warning_printer.h"
#include "client/flags/exit_code.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  std::string preview;
  JsonOutput json;
};

/// Iterations as they come, and the state below them.
class Display {
 public:
  explicit Display(std::FILE* file) : file_(file), printer_(file), states_(file) {}
  void Show(const v1::Job& job) {
    ShowSets(job);
    if (job.iteration_size() != iterations_) {
      states_.Clear();
      printer_.Print(job);
      iterations_ = job.iteration_size();
    }
    v1::JobProgress progress = job.progress();
    progress.set_state(job.state());
    states_.Show(progress);
    ShowFindings(job);
  }

 private:
  /// Once: they are chosen when the job is accepted.
  void ShowSets(const v1::Job& job) {
    if (sets_shown_) return;
    sets_shown_ = true;
    if (job.has_calibration()) {
      std::fprintf(file_, "calibration %s\n", SetText(job.calibration()).c_str());
    }
    if (job.has_geometry()) std::fprintf(file_, "geometry %s\n", SetText(job.geometry()).c_str());
  }

  /// Once: they come with the volume.
  void ShowFindings(const v1::Job& job) {
    if (findings_shown_ || job.finding().empty()) return;
    findings_shown_ = true;
    states_.Clear();
    for (const std::string& finding : job.finding()) std::fprintf(file_, "%s\n", finding.c_str());
  }

  std::FILE* const file_;
  IterationPrinter printer_;
  StatePrinter states_;
  int iterations_ = 0;
  bool sets_shown_ = false, findings_shown_ = false;
};

absl::Status Watch(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckPreviewFile(options.preview));
  ISO_RETURN_IF_ERROR(options.json.Check());
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       ServiceOfJob(options.server, options.job_id));
  PreviewFile preview(options.preview);
  WarningPrinter warnings;
  absl::StatusOr<v1::Job> job;
  {
    Display display(options.json.progress());
    job = client::JobClient(channel).Follow(
        options.job_id,
        [&](const v1::Job& now) {
          SayThatItGoesOn(now);
          for (const v1::JobWarning& warning : now.warning()) warnings.Print(warning);
          if (now.has_preview()) preview.Show(now.preview());
          display.Show(now);
          return true;
        },
        [&](const absl::Status& why) { warnings.Print(LostText(why)); }, !options.preview.empty());
  }
  if (!job.ok()) return WithWayBack(job.status(), options.job_id);
  if (const absl::Status s = preview.Close(); !s.ok()) warnings.Print(std::string(s.message()));
  warnings.Finish();
  ISO_RETURN_IF_ERROR(options.json.Report("", ToJson(*job)));
  if (job->state() == v1::JOB_STATE_COMPLETED) return absl::OkStatus();
  return flags::JobFailed(CodeOf(*job),
                          absl::StrCat("job ", job->job_id(), " is ", StateName(job->state()), ": ",
                                       job->error_message()),
                          job->job_id());
}

}  // namespace

void AddWatchCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand("watch", "Follow a job until it has ended");
  command.Footer(
      "Examples:\n"
      "  isocenter watch 20260131T120000-9a08e8f8 --preview now.png\n"
      "  isocenter watch 20260131T120000-9a08e8f8-ref      a refinement, iteration by iteration\n"
      "Exit code 0: completed; 7: failed or cancelled; 4: unknown.");
  AddJobArgument(command, options->job_id).Required();
  command.Add("--preview", options->preview, "PNG of three planes, replaced as the volume grows")
      .Type("FILE");
  options->json.AddFlag(command);
  AddServerFlags(command, options->server);
  command.Does([options] { return Watch(*options); });
}

}  // namespace isocenter::cli
