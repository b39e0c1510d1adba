// isocenterd: flags, wiring, drain.

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"
#include "server/archive/archive.h"
#include "server/daemon/asking.h"
#include "server/daemon/audit_options.h"
#include "server/daemon/background.h"
#include "server/daemon/configuration.h"
#include "server/daemon/dicom_options.h"
#include "server/daemon/flags.h"
#include "server/daemon/frames.h"
#include "server/daemon/metric_sources.h"
#include "server/daemon/no_device_record.h"
#include "server/daemon/observer.h"
#include "server/daemon/sending.h"
#include "server/daemon/slots.h"
#include "server/daemon/supervisor.h"
#include "server/daemon/web.h"
#include "server/dicom/objects/dictionary.h"
#include "server/dicom/objects/result_store.h"
#include "server/dicom/scp/node.h"
#include "server/jobs/job_table.h"
#include "server/metrics/metrics.h"
#include "server/node/activity.h"
#include "server/node/job_feed.h"
#include "server/node/monitor.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/rpc/library_log.h"
#include "server/rpc/server.h"
#include "server/rpc/translate_header.h"
#include "server/rpc/translate_refinement.h"
#include "server/scheduler/scheduler.h"
#include "server/spool/spool.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace isocenter {
namespace {

constexpr int kExitFailed = 1;
// To start again would not help. Only what --check refuses too ends so.
constexpr int kExitBadConfiguration = 2;
// For the supervisor: start again, which is the only cure.
constexpr int kExitDeviceLost = 3;

void SetUpLog(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("isocenterd"));
  spdlog::set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  spdlog::set_level(spdlog::level::from_str(level));
}

absl::StatusOr<std::unique_ptr<dicom::Node>> StartDicomNode(const dicom::NodeOptions& options,
                                                            archive::Archive& archive,
                                                            metrics::Metrics& metrics) {
  return dicom::Node::Start(
      options, archive, [&metrics](dicom::NodeOperation operation, dicom::NodeOutcome outcome) {
        metrics.OnDicomOperation(dicom::Name(operation), dicom::Name(outcome));
      });
}

void Drain(double seconds, node::Node& node, rpc::Server& server, pipeline::Engine& engine) {
  constexpr absl::Duration kToCleanUp = absl::Seconds(5);
  const absl::Time deadline = absl::Now() + absl::Seconds(seconds);
  spdlog::info("event=drain_begins seconds={}", seconds);
  node.SetStopping();
  server.StopServing();
  engine.StopAdmitting();
  if (!engine.WaitUntilIdle(deadline)) {
    // The next start goes on with them.
    engine.SuspendAll();
    engine.WaitUntilIdle(absl::Now() + kToCleanUp);
  }
  // What is left are answers on their way, watches and downloads.
  server.Shutdown(std::clamp(deadline, absl::Now(), absl::Now() + kToCleanUp));
  spdlog::info("event=drain_ends");
}

// A device that has failed may never answer again; what waits for it must not keep the process from
// being started again. To the spool and the archive it is as any other crash.
void EndSoon() {
  constexpr unsigned kSeconds = 15;  // more than a drain without waiting takes
  signal(SIGALRM, [](int) { _exit(kExitDeviceLost); });
  alarm(kSeconds);
}

// Meanwhile memory that large or hostile requests took goes back to the system: the allocator keeps
// every page below one that is still in use, until it is asked.
void WaitForSignal(const sigset_t& signals) {
  constexpr timespec kBetweenTrims = {.tv_sec = 5, .tv_nsec = 0};
  while (sigtimedwait(&signals, nullptr, &kBetweenTrims) < 0) malloc_trim(0);
}

/// A lost device as error: the last one, so that a restart is the only cure.
absl::Status Serve(daemon::Configuration configuration, const std::string& wanted_backend,
                   const sigset_t& stop_signals) {
  const v1::ServerConfig& config = configuration.config;
  dicom::NodeOptions& dicom_options = configuration.files.dicom;
  const auto& roster = configuration.files.roster;
  ISO_RETURN_IF_ERROR(dicom::CheckDictionary());
  ISO_ASSIGN_OR_RETURN(daemon::Slots slots, daemon::OpenSlots(config.limits(), wanted_backend));
  ISO_ASSIGN_OR_RETURN(const auto audit_trail, daemon::OpenAudit(config));
  dicom_options.audit = audit_trail.get();
  metrics::Metrics metrics({.version = ISOCENTER_VERSION, .backend = slots.backend});
  node::Activity activity(absl::Now());
  daemon::Observer observer(metrics, activity);
  ISO_ASSIGN_OR_RETURN(const auto archive, archive::Archive::Open(config.archive_directory()));
  for (const std::string& repair : archive->repairs()) {
    spdlog::warn("event=archive_repaired what=\"{}\"", repair);
  }
  ISO_ASSIGN_OR_RETURN(const auto results, daemon::InBackground([&] {
                         return dicom::DicomResultStore::Create(
                             *archive, daemon::RoutesOf(config.dicom_node()));
                       }));
  std::atomic<double> last_sync_seconds{0};
  ISO_ASSIGN_OR_RETURN(const auto spool, daemon::OpenSpool(config, last_sync_seconds));
  jobs::JobTable table(*archive, &observer,
                       [&spool](const std::string& id) { (void)spool->Remove(id); });
  ISO_RETURN_IF_ERROR(table.Load(absl::Now(), daemon::ResumableFrom(*spool)));
  daemon::RecallSpeeds(table, slots);
  const auto worklist = daemon::MakeWorklist(config.dicom_node(), dicom_options, metrics);
  ISO_ASSIGN_OR_RETURN(
      const auto procedure_steps,
      daemon::StartProcedureSteps(config, dicom_options, *archive, table, metrics));
  observer.SetProcedureSteps(procedure_steps.get());
  scheduler::Scheduler scheduler(std::move(slots.slots),
                                 static_cast<int>(config.limits().max_active_jobs()));
  std::atomic<bool> no_device_left{false};
  pipeline::Engine engine(
      {.registry = Backends(),
       .scheduler = scheduler,
       .table = table,
       .spool = *spool,
       .results = *results,
       .observer = observer,
       .worklist = worklist.get()},
      slots.groups,
      {.reconnect_limit = absl::Seconds(config.limits().reconnect_seconds()),
       .fault = configuration.fault,
       .no_device_left =
           [&no_device_left] {
             no_device_left = true;
             kill(getpid(), SIGTERM);
           },
       .decoders = {.acquisition = rpc::TranslateRecord,
                    .refinement = rpc::TranslateRefinementRecord},
       .worklist_timeout = absl::Seconds(config.dicom_node().worklist().timeout_seconds()),
       .reports_procedure_steps = procedure_steps != nullptr});
  engine.Recover();
  node::Node node(daemon::NodeOptionsOf(config, slots.backend, *spool, last_sync_seconds), engine,
                  scheduler, table);
  node::JobFeed feed(table);

  for (const crypto::Expiry& expiry : configuration.files.expiries) {
    metrics.SetCertificateExpiry(expiry.certificate,
                                 absl::ToDoubleSeconds(expiry.not_after - absl::UnixEpoch()));
  }

  ISO_ASSIGN_OR_RETURN(const auto sender,
                       daemon::StartSender(config.dicom_node(), dicom_options, *archive, metrics));
  metrics::Sources sources =
      daemon::SourcesOf(config, table, scheduler, slots.groups, *spool, last_sync_seconds);
  sources.send_queues = [&archive] { return daemon::SendQueues(archive->transfers()); };
  if (procedure_steps != nullptr) {
    sources.procedure_steps = [&] { return daemon::ProcedureStepsState(*procedure_steps); };
  }
  ISO_RETURN_IF_ERROR(metrics.Serve(config.metrics_address(), std::move(sources)));
  ISO_ASSIGN_OR_RETURN(
      const auto server,
      rpc::Server::Start(config, configuration.protocols, table, engine, *results, observer,
                         {.worklist = worklist.get(),
                          .audit = audit_trail.get(),
                          .transfers = &archive->transfers(),
                          .node = &node,
                          .roster = roster.get(),
                          .procedure_steps = procedure_steps.get()}));
  std::unique_ptr<dicom::Node> dicom_node;
  std::string dicom_address = "off";
  if (!config.dicom_node().disabled()) {
    ISO_ASSIGN_OR_RETURN(dicom_node, StartDicomNode(dicom_options, *archive, metrics));
    dicom_address = daemon::AddressesOf(dicom_options, *dicom_node);
  }
  ISO_ASSIGN_OR_RETURN(const auto web,
                       daemon::Web::Start(config, *roster, node, activity, feed, table, engine,
                                          *results, archive->transfers(), *audit_trail));
  node::Monitor monitor(node, activity, [&](const std::vector<node::Reason>& reasons) {
    server->SetReady(reasons.empty());
    feed.OnNodeChanged();
  });
  node.SetStarted();
  const std::string& metrics_address = config.metrics_address();
  std::printf("ready grpc=%s metrics=%s:%d dicom=%s web=%s\n", server->address().c_str(),
              metrics_address.substr(0, metrics_address.rfind(':')).c_str(), metrics.port(),
              dicom_address.c_str(), web->address().c_str());
  std::fflush(stdout);
  // A lock that is never released shows here.
  const daemon::Supervisor supervisor([&] {
    (void)table.Count();
    (void)scheduler.active_jobs();
    (void)spool->usage();
  });
  supervisor.Ready(absl::StrCat("serves gRPC on ", server->address()));

  audit_trail->Record({.action = audit::Action::kServiceStart});
  WaitForSignal(stop_signals);
  // A second signal ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &stop_signals, nullptr);
  supervisor.Stopping("drains");
  if (no_device_left) {
    daemon::RecordNoDevice(config.archive_directory(), absl::Now());
    EndSoon();
  }
  // Without a device nothing that is waited for would end.
  Drain(no_device_left ? 0 : config.drain_seconds(), node, *server, engine);
  // The node goes last: what a draining job has stored can still be pulled.
  if (dicom_node != nullptr) dicom_node->Stop();
  web->Stop();
  sender->Stop();
  metrics.Stop();
  audit_trail->Record({.action = audit::Action::kServiceStop});
  if (no_device_left) {
    return ops::DeviceLostError(
        "all devices are lost; active jobs go on when the service starts again");
  }
  return absl::OkStatus();
}

void Complain(const absl::Status& status) {
  std::fprintf(stderr, "isocenterd: %s\n", std::string(status.message()).c_str());
}

int Main(int argc, char** argv) {
  // One heap: what a thread has freed, every other can use, and malloc_trim can give all of it back
  // (of any further heap it keeps the top).
  mallopt(M_ARENA_MAX, 1);
  // Frames come and go some hundred times a second: their memory stays, instead of being mapped and
  // cleared by the kernel for each. WaitForSignal gives it back.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  daemon::Flags flags;
  CLI::App app("Isocenter reconstruction service", "isocenterd");
  daemon::Declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitBadConfiguration;
  }
  SetUpLog(flags.log_level);
  rpc::RedirectLibraryLogs();

  absl::StatusOr<daemon::Configuration> configuration = daemon::ReadConfiguration(flags);
  if (!configuration.ok()) {
    Complain(configuration.status());
    return kExitBadConfiguration;
  }
  if (flags.check) return 0;

  // Blocked before any thread exists, so that every thread inherits it and sigwait gets them.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const absl::Status status = Serve(*std::move(configuration), flags.backend, stop_signals);
  if (status.ok()) return 0;
  Complain(status);
  return ops::IsDeviceLost(status) ? kExitDeviceLost : kExitFailed;
}

}  // namespace
}  // namespace isocenter

int main(int argc, char** argv) { return isocenter::Main(argc, argv); }
