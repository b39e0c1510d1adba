// isocenterd: flags, wiring, drain.

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/config/protocol_book.h"
#include "server/config/server_config.h"
#include "server/dicom/dictionary.h"
#include "server/dicom/node.h"
#include "server/dicom/result_store.h"
#include "server/jobs/job_table.h"
#include "server/metrics/metrics.h"
#include "server/pipeline/engine.h"
#include "server/rpc/library_log.h"
#include "server/rpc/server.h"
#include "server/scheduler/scheduler.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace isocenter {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitBadConfiguration = 2;

struct Flags {
  std::string config_file;
  std::optional<std::string> grpc_address, metrics_address, archive, dicom_address, dicom_aet;
  std::optional<std::string> tls_certificate, tls_key, tls_client_ca;
  std::optional<uint32_t> dicom_port, threads, gpus, gpus_per_job;
  std::optional<uint64_t> memory_bytes, device_memory_limit;
  std::optional<double> drain_seconds;
  bool no_dicom = false;
  bool check = false;
  std::string backend;
  std::string log_level = "info";
};

void Declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config_file,
                 "Configuration in protobuf text format (proto/isocenter/v1/server_config.proto)");
  app.add_option("--grpc_address", flags.grpc_address, "host:port of the gRPC endpoint");
  app.add_option("--metrics_address", flags.metrics_address, "host:port of /metrics");
  app.add_option("--archive", flags.archive, "Directory of results and job records");
  app.add_option("--dicom_port", flags.dicom_port, "Port of the DICOM node; 0: any free one");
  app.add_option("--dicom_address", flags.dicom_address, "Address that the DICOM node listens on");
  app.add_option("--dicom_aet", flags.dicom_aet, "Application entity title of the DICOM node");
  app.add_flag("--no_dicom", flags.no_dicom, "Do not start the DICOM node");
  app.add_option("--tls_certificate", flags.tls_certificate, "PEM file; turns TLS on");
  app.add_option("--tls_key", flags.tls_key, "PEM file of the certificate's private key");
  app.add_option("--tls_client_ca", flags.tls_client_ca,
                 "PEM file; clients must present a certificate of this authority");
  app.add_option("--memory_bytes", flags.memory_bytes,
                 "Memory of the host for all jobs together, e.g. 16GiB")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  app.add_option("--threads", flags.threads, "Threads of the CPU backend; 0: one per core");
  app.add_option("--device_memory_limit", flags.device_memory_limit,
                 "Memory of each GPU that may be used, e.g. 8GiB (default: all)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  app.add_option("--gpus", flags.gpus, "GPUs that are used; 0: all");
  app.add_option("--gpus_per_job", flags.gpus_per_job, "GPUs that share each acquisition");
  app.add_option("--drain_seconds", flags.drain_seconds, "Longest time from SIGTERM to exit");
  app.add_option("--backend", flags.backend,
                 "Backend that computes (default: cuda where there is a device, else cpu)");
  app.add_option("--log_level", flags.log_level, "trace, debug, info, warn, err or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "err", "off"}))
      ->capture_default_str();
  app.add_flag("--check", flags.check, "Validate the configuration and exit");
  app.set_version_flag("--version", "isocenterd " ISOCENTER_VERSION);
}

// Defaults, then the file, then flags.
absl::StatusOr<v1::ServerConfig> Configure(const Flags& flags) {
  v1::ServerConfig config;
  if (!flags.config_file.empty()) {
    ISO_ASSIGN_OR_RETURN(config, config::ReadServerConfig(flags.config_file));
  }
  config::ApplyDefaults(config);
  if (flags.grpc_address) config.set_grpc_address(*flags.grpc_address);
  if (flags.metrics_address) config.set_metrics_address(*flags.metrics_address);
  if (flags.archive) config.set_archive_directory(*flags.archive);
  v1::DicomNodeConfig& node = *config.mutable_dicom_node();
  if (flags.dicom_address) node.set_address(*flags.dicom_address);
  if (flags.dicom_port) node.set_port(*flags.dicom_port);
  if (flags.dicom_aet) node.set_ae_title(*flags.dicom_aet);
  if (flags.no_dicom) node.set_disabled(true);
  v1::TlsConfig& tls = *config.mutable_grpc_tls();
  if (flags.tls_certificate) tls.set_certificate_file(*flags.tls_certificate);
  if (flags.tls_key) tls.set_private_key_file(*flags.tls_key);
  if (flags.tls_client_ca) tls.set_client_ca_file(*flags.tls_client_ca);
  if (flags.memory_bytes) config.mutable_limits()->set_memory_bytes(*flags.memory_bytes);
  if (flags.threads) config.mutable_limits()->set_cpu_threads(*flags.threads);
  if (flags.device_memory_limit) {
    config.mutable_limits()->set_device_memory_bytes(*flags.device_memory_limit);
  }
  if (flags.gpus) config.mutable_limits()->set_gpus(*flags.gpus);
  if (flags.gpus_per_job) config.mutable_limits()->set_gpus_per_job(*flags.gpus_per_job);
  if (flags.drain_seconds) config.set_drain_seconds(*flags.drain_seconds);
  ISO_RETURN_IF_ERROR(config::ValidateServerConfig(config));
  return config;
}

void SetUpLog(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("isocenterd"));
  spdlog::set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc);
  spdlog::set_level(spdlog::level::from_str(level));
}

// Metrics and a line in the log for whatever happens to jobs.
class Observer : public jobs::JobObserver {
 public:
  explicit Observer(metrics::Metrics& metrics) : metrics_(metrics) {}
  void OnJobAccepted(const jobs::Job& job) override { metrics_.OnJobAccepted(job); }
  void OnFrame(int64_t bytes) override { metrics_.OnFrame(bytes); }
  void OnRefused(const absl::Status& reason) override { metrics_.OnRefused(reason); }
  void OnFrameSpooled(double seconds) override { metrics_.OnFrameSpooled(seconds); }
  void OnWarning(jobs::WarningKind kind) override { metrics_.OnWarning(kind); }
  void OnPrediction(const std::string& device, double predicted_seconds,
                    double actual_seconds) override {
    metrics_.OnPrediction(device, predicted_seconds, actual_seconds);
  }
  void OnJobResumed(absl::string_view reason) override { metrics_.OnJobResumed(reason); }
  void OnDeviceLost(const std::string& device) override {
    spdlog::error("event=device_lost device={}", device);
    metrics_.OnDeviceLost(device);
  }
  void OnStateChanged(const jobs::Job& job, jobs::JobState from) override {
    spdlog::info("event=job_state job={} from={} to={}", job.id, std::string(Name(from)),
                 std::string(Name(job.state)));
    metrics_.OnStateChanged(job, from);
  }
  void OnJobEnded(const jobs::Job& job) override {
    metrics_.OnJobEnded(job);
    if (job.state != jobs::JobState::kCompleted) {
      spdlog::warn("event=job_ended job={} outcome={} error=\"{}\"", job.id,
                   std::string(Name(job.state)), job.error.ToString());
      return;
    }
    const jobs::JobResult& result = job.result;
    spdlog::info(
        "event=job_ended job={} outcome=completed frames={} instances={} "
        "seconds_after_last_frame={:.3f} seconds_to_stored={:.3f} kernel_gups={:.3f} "
        "whole_gups={:.3f}",
        job.id, job.progress.frames_total, result.instance_count, result.seconds_after_last_frame,
        result.seconds_to_stored, result.kernel_gups, result.whole_gups);
  }

 private:
  metrics::Metrics& metrics_;
};

// What was measured before a restart predicts what comes after it.
void RecallSpeed(const jobs::JobTable& table, const ops::Device& device,
                 scheduler::SpeedEstimate& speed) {
  const auto recent = table.List({.states = {jobs::JobState::kCompleted}}, std::nullopt, 8);
  for (auto job = recent.rbegin(); job != recent.rend(); ++job) {
    const jobs::JobResult& result = (*job)->result;
    if (result.backend != device.backend() || !(result.whole_gups > 0)) continue;
    const double updates = static_cast<double>((*job)->grid.voxels()) * (*job)->facts.frames;
    speed.Add(updates, updates / (result.whole_gups * 1e9));
  }
}

absl::StatusOr<std::unique_ptr<dicom::Node>> StartDicomNode(const v1::DicomNodeConfig& config,
                                                            archive::Archive& archive,
                                                            metrics::Metrics& metrics) {
  dicom::NodeOptions options{.ae_title = config.ae_title(),
                             .address = config.address(),
                             .port = static_cast<int>(config.port()),
                             .max_associations = static_cast<int>(config.max_associations())};
  for (const v1::DicomPeer& peer : config.peer()) {
    options.peers.push_back(
        {.ae_title = peer.ae_title(), .host = peer.host(), .port = static_cast<int>(peer.port())});
  }
  return dicom::Node::Start(
      options, archive, [&metrics](dicom::NodeOperation operation, dicom::NodeOutcome outcome) {
        metrics.OnDicomOperation(dicom::Name(operation), dicom::Name(outcome));
      });
}

void Drain(double seconds, rpc::Server& server, pipeline::Engine& engine) {
  constexpr absl::Duration kToCleanUp = absl::Seconds(5);
  const absl::Time deadline = absl::Now() + absl::Seconds(seconds);
  spdlog::info("event=drain_begins seconds={}", seconds);
  server.StopServing();
  engine.StopAdmitting();
  if (!engine.WaitUntilIdle(deadline)) {
    engine.CancelAll(absl::UnavailableError(
        absl::StrCat("the service was stopped and the job did not end within ", seconds, " s")));
    engine.WaitUntilIdle(absl::Now() + kToCleanUp);
  }
  // What is left are answers on their way, watches and downloads.
  server.Shutdown(std::clamp(deadline, absl::Now(), absl::Now() + kToCleanUp));
  spdlog::info("event=drain_ends");
}

// Meanwhile memory that large or hostile requests took goes back to the system: the allocator keeps
// every page below one that is still in use, until it is asked.
void WaitForSignal(const sigset_t& signals) {
  constexpr timespec kBetweenTrims = {.tv_sec = 5, .tv_nsec = 0};
  while (sigtimedwait(&signals, nullptr, &kBetweenTrims) < 0) malloc_trim(0);
}

// Slots of `per_job` devices each; a device without memory of its own is a slot alone.
absl::StatusOr<std::vector<pipeline::Engine::SlotDevices>> GroupDevices(const ChosenDevices& chosen,
                                                                        int per_job) {
  const auto count = static_cast<int>(chosen.devices.size());
  if (!chosen.devices[0]->traits().own_memory) per_job = 1;
  if (count % per_job != 0) {
    return absl::InvalidArgumentError(absl::StrCat("limits.gpus_per_job is ", per_job,
                                                   "; legal is a divisor of the ", count,
                                                   " GPUs that are used"));
  }
  std::vector<pipeline::Engine::SlotDevices> groups(count / per_job);
  for (int i = 0; i < count; ++i) groups[i / per_job].push_back(chosen.devices[i].get());
  return groups;
}

absl::Status Serve(const v1::ServerConfig& config, const config::ProtocolBook& protocols,
                   const std::string& wanted_backend, const sigset_t& stop_signals) {
  ISO_RETURN_IF_ERROR(dicom::CheckDictionary());
  const v1::LimitsConfig& limits = config.limits();
  const auto memory_bytes = static_cast<int64_t>(limits.memory_bytes());
  ISO_ASSIGN_OR_RETURN(
      const ChosenDevices chosen,
      OpenDevices(
          wanted_backend,
          {.host = {.memory_bytes = memory_bytes,
                    .threads = static_cast<int>(limits.cpu_threads())},
           .own_memory = {.memory_bytes = static_cast<int64_t>(limits.device_memory_bytes())},
           .count = static_cast<int>(limits.gpus())}));
  const std::string backend(chosen.devices[0]->backend());
  for (const auto& device : chosen.devices) {
    spdlog::info("event=device backend={} device=\"{}\" reason=\"{}\"", backend,
                 device->description(), chosen.reason);
  }

  metrics::Metrics metrics({.version = ISOCENTER_VERSION, .backend = backend});
  Observer observer(metrics);
  ISO_ASSIGN_OR_RETURN(const auto archive, archive::Archive::Open(config.archive_directory()));
  for (const std::string& repair : archive->repairs()) {
    spdlog::warn("event=archive_repaired what=\"{}\"", repair);
  }
  ISO_ASSIGN_OR_RETURN(const auto results, dicom::DicomResultStore::Create(*archive));
  jobs::JobTable table(*archive, &observer);
  ISO_RETURN_IF_ERROR(table.Load(absl::Now()));

  scheduler::MemoryBudget host_memory(memory_bytes);
  ISO_ASSIGN_OR_RETURN(const std::vector<pipeline::Engine::SlotDevices> groups,
                       GroupDevices(chosen, static_cast<int>(limits.gpus_per_job())));
  std::vector<std::unique_ptr<scheduler::DeviceSlot>> slots;
  for (const pipeline::Engine::SlotDevices& group : groups) {
    const ops::Device& device = *group[0];
    slots.push_back(std::make_unique<scheduler::DeviceSlot>(
        absl::StrCat(backend, slots.size()), device.limits().memory_bytes,
        absl::StrCat("iso-slot-", slots.size()),
        device.traits().own_memory ? &host_memory : nullptr));
    RecallSpeed(table, device, slots.back()->speed);
  }
  scheduler::Scheduler scheduler(std::move(slots), static_cast<int>(limits.max_active_jobs()));
  pipeline::Engine engine(Backends(), groups, scheduler, table, *results, observer);

  ISO_RETURN_IF_ERROR(metrics.Serve(
      config.metrics_address(),
      {.jobs = [&] { return table.Count(); },
       .queue_depth = [&] { return scheduler.queue_depth(); },
       .device_memory =
           [&] {
             std::vector<metrics::DeviceMemory> memory;
             for (const auto& slot : scheduler.slots()) {
               memory.push_back({slot->name, slot->memory.limit(), slot->memory.used()});
             }
             return memory;
           }}));
  ISO_ASSIGN_OR_RETURN(const auto server,
                       rpc::Server::Start(config, protocols, table, engine, *results, observer));
  std::unique_ptr<dicom::Node> node;
  std::string dicom_address = "off";
  if (!config.dicom_node().disabled()) {
    ISO_ASSIGN_OR_RETURN(node, StartDicomNode(config.dicom_node(), *archive, metrics));
    dicom_address = absl::StrCat(config.dicom_node().address(), ":", node->port());
  }
  const std::string& metrics_address = config.metrics_address();
  std::printf("ready grpc=%s metrics=%s:%d dicom=%s\n", server->address().c_str(),
              metrics_address.substr(0, metrics_address.rfind(':')).c_str(), metrics.port(),
              dicom_address.c_str());
  std::fflush(stdout);

  WaitForSignal(stop_signals);
  // A second signal ends the process at once.
  pthread_sigmask(SIG_UNBLOCK, &stop_signals, nullptr);
  Drain(config.drain_seconds(), *server, engine);
  // The node goes last: what a draining job has stored can still be pulled.
  if (node != nullptr) node->Stop();
  metrics.Stop();
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  // One heap: what a thread has freed, every other can use, and malloc_trim can give all of it back
  // (of any further heap it keeps the top).
  mallopt(M_ARENA_MAX, 1);
  Flags flags;
  CLI::App app("Isocenter reconstruction service", "isocenterd");
  Declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitBadConfiguration;
  }
  SetUpLog(flags.log_level);
  rpc::RedirectLibraryLogs();

  const absl::StatusOr<v1::ServerConfig> config = Configure(flags);
  const absl::StatusOr<config::ProtocolBook> protocols =
      config.ok() ? config::ProtocolBook::Make(*config) : config.status();
  if (!protocols.ok()) {
    std::fprintf(stderr, "isocenterd: %s\n", std::string(protocols.status().message()).c_str());
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

  const absl::Status status = Serve(*config, *protocols, flags.backend, stop_signals);
  if (status.ok()) return 0;
  std::fprintf(stderr, "isocenterd: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ||
                 status.code() == absl::StatusCode::kNotFound
             ? kExitBadConfiguration
             : kExitFailed;
}

}  // namespace
}  // namespace isocenter

int main(int argc, char** argv) { return isocenter::Main(argc, argv); }
