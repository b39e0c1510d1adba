// isocenter watch: one job, live, until it has ended.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"
#include "client/cli/options/server_flags.h"
#include "client/cli/output/iteration_printer.h"
#include "client/cli/output/job_text.h"
#include "client/cli/output/preview_file.h"
#include "client/cli/output/warning_printer.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
  std::string preview;
};

constexpr absl::Duration kLinePause = absl::Seconds(10);

/// On a terminal one line that changes; elsewhere a line per state, and every ten seconds.
class Display {
 public:
  void Show(const v1::Job& job) {
    if (job.iteration_size() != iterations_) {
      if (terminal_) std::printf("\r\033[K");
      printer_.Print(job);
      iterations_ = job.iteration_size();
    }
    const absl::Time now = absl::Now();
    v1::JobProgress progress = job.progress();
    progress.set_state(job.state());
    if (terminal_) {
      std::printf("\r\033[K%s", ProgressLine(progress).c_str());
      std::fflush(stdout);
    } else if (job.state() != state_ || now - last_line_ >= kLinePause) {
      last_line_ = now;
      std::puts(ProgressLine(progress).c_str());
      std::fflush(stdout);
    }
    state_ = job.state();
  }
  ~Display() {
    if (terminal_) std::puts("");
  }

 private:
  IterationPrinter printer_;
  int iterations_ = 0;
  bool terminal_ = isatty(STDOUT_FILENO) != 0;
  v1::JobState state_ = v1::JOB_STATE_UNSPECIFIED;
  absl::Time last_line_ = absl::InfinitePast();
};

absl::Status Watch(const Options& options) {
  ISO_RETURN_IF_ERROR(CheckPreviewFile(options.preview));
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  PreviewFile preview(options.preview);
  WarningPrinter warnings;
  absl::StatusOr<v1::Job> job;
  {
    Display display;
    job = client::JobClient(channel).Watch(
        options.job_id,
        [&](const v1::Job& now) {
          for (const v1::JobWarning& warning : now.warning()) warnings.Print(warning.text());
          if (now.has_preview()) preview.Show(now.preview());
          display.Show(now);
          return true;
        },
        !options.preview.empty());
  }
  if (!job.ok()) return job.status();
  if (const absl::Status s = preview.Close(); !s.ok()) warnings.Print(std::string(s.message()));
  if (job->state() == v1::JOB_STATE_COMPLETED) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("job ", job->job_id(), " is ", StateName(job->state()),
                                         ": ", job->error_message()));
}

}  // namespace

void AddWatchCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  flags::Command command = program.Subcommand("watch", "Follow a job until it has ended");
  command.Footer("Exit code 0: completed; 1: failed, cancelled or unknown.");
  command.Add("job", options->job_id, "job id").Required().Type("JOB");
  command.Add("--preview", options->preview, "PNG of three planes, replaced as the volume grows")
      .Type("FILE");
  AddServerFlags(command, options->server);
  command.Does([options] { return Watch(*options); });
}

}  // namespace isocenter::cli
