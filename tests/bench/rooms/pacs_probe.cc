#include "tests/bench/rooms/pacs_probe.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

extern char** environ;

namespace isocenter::bench {
namespace {

/// What a program prints to both outputs; empty when it cannot be started.
std::string OutputOf(std::vector<std::string> arguments) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return "";
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string output;
  char piece[4096];
  for (ssize_t got; (got = read(pipe_ends[0], piece, sizeof(piece))) > 0;) {
    output.append(piece, got);
  }
  close(pipe_ends[0]);
  if (failed == 0) waitpid(pid, nullptr, 0);
  return output;
}

}  // namespace

absl::StatusOr<PacsProbe> PacsProbe::Open(const std::string& peer) {
  PacsProbe probe;
  const std::vector<std::string> parts = absl::StrSplit(peer, absl::ByAnyChar(":,"));
  if (parts.size() != 3 || parts[0].empty() || parts[1].empty() || parts[2].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pacs is '", peer, "'; legal is HOST:PORT,AETITLE"));
  }
  probe.host_ = parts[0];
  probe.port_ = parts[1];
  probe.ae_title_ = parts[2];
  if (OutputOf({"findscu", "--version"}).empty()) {
    return absl::NotFoundError("DCMTK's findscu is not on the PATH");
  }
  return probe;
}

absl::Status PacsProbe::WaitUntilFound(const std::string& study_uid, const std::string& series_uid,
                                       absl::Duration limit) const {
  const absl::Time deadline = absl::Now() + limit;
  for (;;) {
    const std::string output =
        OutputOf({"findscu", "-S", "-aec", ae_title_, "-k", "QueryRetrieveLevel=SERIES", "-k",
                  absl::StrCat("StudyInstanceUID=", study_uid), "-k",
                  absl::StrCat("SeriesInstanceUID=", series_uid), host_, port_});
    if (absl::StrContains(output, "Find Response")) return absl::OkStatus();
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "series ", series_uid, " is not in the PACS after ", absl::FormatDuration(limit)));
    }
    absl::SleepFor(absl::Milliseconds(200));
  }
}

}  // namespace isocenter::bench
