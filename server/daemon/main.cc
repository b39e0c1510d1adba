// isocenterd: reads what it is told, starts the service, waits for a signal, drains.

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"
#include "server/audit/audit_file.h"
#include "server/audit/verification.h"
#include "server/base/log.h"
#include "server/daemon/configuration.h"
#include "server/daemon/directories.h"
#include "server/daemon/flags.h"
#include "server/daemon/machine_faults.h"
#include "server/daemon/process_signals.h"
#include "server/daemon/service.h"
#include "server/daemon/supervisor.h"
#include "server/rpc/library_log.h"
#include "server/storage/locks.h"

namespace isocenter::daemon {
namespace {

constexpr int kExitFailed = 1;
// For the supervisor: start again, which is the only cure.
constexpr int kExitDeviceLost = 3;

void SetUpHeap() {
  // One heap: what a thread has freed, every other can use, and malloc_trim can give all of it back
  // (of any further heap it keeps the top).
  mallopt(M_ARENA_MAX, 1);
  // Frames come and go some hundred times a second: their memory stays, instead of being mapped and
  // cleared by the kernel for each. Serve gives it back.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

/// As many files and connections as this process may have, which is more than it gets unasked.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// A device that has failed may never answer again; what waits for it must not keep the process from
// being started again. To the spool and the archive it is as any other crash.
void EndSoon() {
  constexpr unsigned kSeconds = 15;  // more than a drain without waiting takes
  signal(SIGALRM, [](int) { _exit(kExitDeviceLost); });
  alarm(kSeconds);
}

/// A lost device as error: the last one, so that a restart is the only cure.
absl::Status Serve(Configuration configuration, const ProcessSignals& signals) {
  ISO_ASSIGN_OR_RETURN(const auto service,
                       Service::Start(std::move(configuration), [] { kill(getpid(), SIGTERM); }));
  const Addresses& at = service->addresses();
  std::printf("ready grpc=%s metrics=%s dicom=%s web=%s\n", at.grpc.c_str(), at.metrics.c_str(),
              at.dicom.c_str(), at.web.c_str());
  std::fflush(stdout);
  // A lock that is never released shows here.
  const Supervisor supervisor([&] { service->CheckLocks(); });
  supervisor.Ready(absl::StrCat("serves gRPC on ", at.grpc));

  signals.WaitForEnd([&] {
    // Memory that large or hostile requests took goes back to the system: the allocator keeps every
    // page below one that is still in use, until it is asked.
    malloc_trim(0);
    service->LookAtCertificates(absl::Now());
  });
  signals.EndAtOnce();
  supervisor.Stopping("drains");
  if (service->no_device_left()) EndSoon();
  return service->Drain();
}

void Complain(const absl::Status& status) {
  // A line for each mistake.
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    std::fprintf(stderr, "isocenterd: %s\n", std::string(line).c_str());
  }
}

int VerifyAudit(const std::string& directory) {
  const absl::StatusOr<audit::Verification> verified = audit::Verify(directory);
  if (!verified.ok()) {
    Complain(verified.status());
    return kExitFailed;
  }
  for (const std::string& note : verified->notes) std::printf("note: %s\n", note.c_str());
  std::printf("whole: records %lld to %lld in %d files, last hash %s\n",
              static_cast<long long>(verified->first),
              static_cast<long long>(verified->last.number), verified->files,
              verified->last.hash.c_str());
  return 0;
}

/// The machine's state, which another start may find better: no wrong configuration. A service that
/// runs with the same archive is the one that is to be started again.
absl::Status CheckMachine(const v1::ServerConfig& config) {
  ISO_RETURN_IF_ERROR(CheckDirectories(config));
  const std::string& audit_file = config.audit().file();
  if (audit_file.empty()) return absl::OkStatus();
  return audit::CheckFile(audit_file, storage::HolderOfDirectory(config.archive_directory()));
}

/// Says whether the configuration is legal and a start would find what it names; and, of what this
/// machine may give at another time, what it would not give now.
int Check(const Configuration& configuration) {
  const absl::Status usable = CheckMachine(configuration.config);
  if (!usable.ok()) {
    Complain(usable);
    return kExitFailed;
  }
  for (const absl::Status& fault : MachineFaults(configuration.config)) {
    std::fprintf(stderr, "isocenterd: a start now would fail: %s\n",
                 std::string(fault.message()).c_str());
  }
  std::puts("ok");
  return 0;
}

int Main(int argc, char** argv) {
  SetUpHeap();
  RaiseDescriptorLimit();
  Flags flags;
  if (const std::optional<int> exit_code = Parse(argc, argv, flags)) return *exit_code;
  if (flags.verify_audit) return VerifyAudit(*flags.verify_audit);
  StartLog(flags.log_level);
  rpc::RedirectLibraryLogs();

  absl::StatusOr<Configuration> configuration = ReadConfiguration(flags);
  if (!configuration.ok()) {
    Complain(configuration.status());
    return kExitBadConfiguration;
  }
  if (flags.check) return Check(*configuration);

  const ProcessSignals signals;
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = Serve(*std::move(configuration), signals);
  if (status.ok()) return 0;
  Complain(status);
  return ops::IsDeviceLost(status) ? kExitDeviceLost : kExitFailed;
}

}  // namespace
}  // namespace isocenter::daemon

int main(int argc, char** argv) { return isocenter::daemon::Main(argc, argv); }
