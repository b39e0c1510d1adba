// isocenter watch: one job, live, until it has ended.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/job_text.h"
#include "client/cli/server_flags.h"
#include "client/job_client.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

struct Options {
  client::ServerAddress server;
  std::string job_id;
};

/// On a terminal one line that changes; elsewhere a line per state.
class Display {
 public:
  void Show(const v1::Job& job) {
    v1::JobProgress progress = job.progress();
    progress.set_state(job.state());
    if (terminal_) {
      std::printf("\r\033[K%s", ProgressLine(progress).c_str());
      std::fflush(stdout);
    } else if (job.state() != state_) {
      std::puts(ProgressLine(progress).c_str());
      std::fflush(stdout);
    }
    state_ = job.state();
  }
  ~Display() {
    if (terminal_) std::puts("");
  }

 private:
  bool terminal_ = isatty(STDOUT_FILENO) != 0;
  v1::JobState state_ = v1::JOB_STATE_UNSPECIFIED;
};

absl::Status Watch(const Options& options) {
  ISO_ASSIGN_OR_RETURN(const client::ServiceChannel channel,
                       client::ServiceChannel::Open(options.server));
  absl::StatusOr<v1::Job> job;
  {
    Display display;
    job = client::JobClient(channel).Watch(options.job_id, [&](const v1::Job& now) {
      display.Show(now);
      return true;
    });
  }
  if (!job.ok()) return job.status();
  if (job->state() == v1::JOB_STATE_COMPLETED) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("job ", job->job_id(), " is ", StateName(job->state()),
                                         ": ", job->error_message()));
}

}  // namespace

void AddWatchCommand(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("watch", "Follow a job until it has ended");
  command.footer("Exit code 0: completed; 1: failed, cancelled or unknown.");
  command.add_option("job", options->job_id, "job id")->required()->type_name("JOB");
  AddServerFlags(command, options->server);
  command.callback([options, &action] { action = [options] { return Watch(*options); }; });
}

}  // namespace isocenter::cli
