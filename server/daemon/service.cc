#include "server/daemon/service.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/device_lost.h"
#include "server/archive/archive.h"
#include "server/archive/catalog.h"
#include "server/audit/trail.h"
#include "server/base/log.h"
#include "server/calibrations/store.h"
#include "server/cluster_index/cluster_index.h"
#include "server/config/server_config.h"
#include "server/daemon/background.h"
#include "server/daemon/dicom_options.h"
#include "server/daemon/directories.h"
#include "server/daemon/job_traces.h"
#include "server/daemon/machine_faults.h"
#include "server/daemon/no_device_record.h"
#include "server/daemon/observer.h"
#include "server/daemon/scan_conditions.h"
#include "server/daemon/simulated_scans.h"
#include "server/daemon/slots.h"
#include "server/daemon/start_advice.h"
#include "server/daemon/sync_policy.h"
#include "server/dicom/objects/dictionary.h"
#include "server/dicom/objects/result_store.h"
#include "server/dicom/scp/node.h"
#include "server/dicom/sending/sender.h"
#include "server/dicom/worklist/procedure_steps.h"
#include "server/dicom/worklist/worklist.h"
#include "server/http/queued_transfers.h"
#include "server/http/web_server.h"
#include "server/metrics/metrics.h"
#include "server/node/activity.h"
#include "server/node/job_audit.h"
#include "server/node/job_feed.h"
#include "server/node/monitor.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/quality/store.h"
#include "server/replicas/keeper.h"
#include "server/replicas/replica_store.h"
#include "server/replicas/replicated_spool.h"
#include "server/replicas/takeover.h"
#include "server/rpc/library_log.h"
#include "server/rpc/peers/peer_watch.h"
#include "server/rpc/server.h"
#include "server/rpc/translation/translate_header.h"
#include "server/rpc/translation/translate_refinement.h"
#include "server/scheduler/scheduler.h"
#include "server/spool/spool.h"
#include "server/storage/files.h"
#include "server/traces/exporter.h"
#include "server/traces/trace_context.h"
#include "server/viewer/volume_cache.h"

namespace isocenter::daemon {
namespace {

/// Where neither a file nor syslog is configured the trail takes records and drops them.
audit::TrailOptions AuditOptionsOf(const v1::ServerConfig& config) {
  const v1::AuditConfig& wanted = config.audit();
  audit::TrailOptions options{.source = config.dicom_node().ae_title()};
  if (!wanted.file().empty()) {
    options.file = {.path = wanted.file(),
                    .max_bytes = wanted.max_file_bytes(),
                    .max_files = static_cast<int>(wanted.max_files())};
  }
  const v1::AuditSyslogConfig& syslog = wanted.syslog();
  if (!syslog.host().empty()) {
    options.syslog = {.host = syslog.host(),
                      .port = static_cast<int>(syslog.port()),
                      .ca_file = syslog.ca_file(),
                      .certificate_file = syslog.certificate_file(),
                      .private_key_file = syslog.private_key_file()};
  }
  return options;
}

/// Without a capacity in the configuration: half of the disk, as the spool finds it.
spool::SpoolOptions SpoolOptionsOf(const v1::ServerConfig& config) {
  const v1::SpoolConfig& wanted = config.spool();
  spool::SpoolOptions options{.directory = config::SpoolDirectory(config),
                              .sync = SyncPolicyOf(wanted),
                              .sync_interval = absl::Seconds(wanted.sync_interval_seconds()),
                              .capacity_bytes = static_cast<int64_t>(wanted.capacity_bytes()),
                              .retention = absl::Seconds(wanted.retain_seconds())};
  if (options.capacity_bytes == 0) {
    options.capacity_follows_disk = true;
    options.capacity_source =
        "half of the most that the disk had free; spool.capacity_bytes sets another figure";
  }
  return options;
}

// Of a directory that was not there.
constexpr char kWhatToDo[] =
    "at a first start nothing; else see whether the disk that belongs there is mounted, before "
    "anything is stored here";

/// Tells whether a job of an earlier run of the service can go on, by what `spool` holds now.
std::function<bool(const jobs::Job&)> ResumableFrom(const spool::Spool& spool) {
  const std::vector<std::string> jobs = spool.Jobs();
  return
      [spooled = absl::flat_hash_set<std::string>(jobs.begin(), jobs.end())](const jobs::Job& job) {
        if (job.pair_role == jobs::PairRole::kSubtraction) return true;  // made of stored volumes
        return spooled.contains(jobs::IsRefinement(job) ? job.source_job_ids.front() : job.id);
      };
}

/// Null where no traces are configured.
std::function<std::string(const std::string&, const std::string&)> TraceParentsOf(
    const v1::TracesConfig& config) {
  if (config.endpoint().empty()) return nullptr;
  return [ratio = config.sample_ratio()](const std::string& job_id, const std::string& told) {
    return traces::TraceParentOf(job_id, told, ratio);
  };
}

auto ObserverOf(metrics::Metrics& metrics, const char* operation) {
  return [&metrics, operation](dicom::NodeOutcome outcome) {
    metrics.OnDicomOperation(operation, dicom::Name(outcome));
  };
}

}  // namespace

Service::Service(Configuration configuration, std::function<void()> on_no_device_left)
    : configuration_(std::move(configuration)), on_no_device_left_(std::move(on_no_device_left)) {}

Service::~Service() {
  rpc::TellOfHandshakes(nullptr);
  // Whoever reads what happens to jobs, or the metrics, waits for more, or asks rooms that go.
  if (feed_ != nullptr) feed_->Stop();
  if (metrics_ != nullptr) metrics_->Stop();
}

absl::StatusOr<std::unique_ptr<Service>> Service::Start(Configuration configuration,
                                                        std::function<void()> no_device_left) {
  std::unique_ptr<Service> service(
      new Service(std::move(configuration), std::move(no_device_left)));
  ISO_RETURN_IF_ERROR(dicom::CheckDictionary());
  ISO_RETURN_IF_ERROR(CheckDirectories(service->configuration_.config));
  // A start that fails for these leaves nothing behind.
  const std::vector<absl::Status> faults = MachineFaults(service->configuration_.config);
  if (!faults.empty()) return faults.front();
  ISO_RETURN_IF_ERROR(service->OpenDevices());
  ISO_RETURN_IF_ERROR(service->OpenStores());
  ISO_RETURN_IF_ERROR(service->TakeUpJobs());
  ISO_RETURN_IF_ERROR(service->StartEngine());
  ISO_RETURN_IF_ERROR(service->StartSender());
  ISO_RETURN_IF_ERROR(OfAddress(service->ServeMetrics()));
  ISO_RETURN_IF_ERROR(OfAddress(service->ServeGrpc()));
  ISO_RETURN_IF_ERROR(OfAddress(service->ServeDicom()));
  ISO_RETURN_IF_ERROR(OfAddress(service->ServeWeb()));
  service->SetStarted();
  return service;
}

absl::Status Service::OpenDevices() {
  const v1::ServerConfig& config = configuration_.config;
  ISO_ASSIGN_OR_RETURN(Slots devices, OpenSlots(config.limits(), configuration_.backend));
  devices_ = std::make_unique<Slots>(std::move(devices));
  ISO_ASSIGN_OR_RETURN(audit_, audit::Trail::Open(AuditOptionsOf(config)));
  configuration_.dicom.audit = audit_.get();
  certificates_ = std::make_unique<CertificateWatch>(configuration_.expiries, absl::Now());
  metrics_ = std::make_unique<metrics::Metrics>(
      metrics::Metrics::BuildInfo{.version = ISOCENTER_VERSION, .backend = devices_->backend});
  for (const crypto::Expiry& expiry : configuration_.expiries) {
    metrics_->SetCertificateExpiry(expiry.certificate,
                                   absl::ToDoubleSeconds(expiry.not_after - absl::UnixEpoch()));
  }
  configuration_.roster->Start(
      [this](absl::string_view reason) { metrics_->OnTokenRefused(reason); });
  activity_ = std::make_unique<node::Activity>(absl::Now());
  observer_ = std::make_unique<Observer>(*metrics_, *activity_);
  return absl::OkStatus();
}

absl::Status Service::OpenStores() {
  const v1::ServerConfig& config = configuration_.config;
  auto archive = archive::Archive::Open(config.archive_directory());
  ISO_RETURN_IF_ERROR(
      OfDirectory("archive_directory", config.archive_directory(), archive.status()));
  archive_ = *std::move(archive);
  if (archive_->is_new()) {
    spdlog::warn("event=archive_created directory=\"{}\" todo=\"{}\"", config.archive_directory(),
                 kWhatToDo);
  }
  for (const std::string& repair : archive_->repairs()) {
    spdlog::warn("event=archive_repaired what=\"{}\"", repair);
  }
  const archive::UnnamedResults& unnamed = archive_->unnamed();
  if (unnamed.count > 0) {
    spdlog::warn(
        "event=archive_results_unnamed count={} directory=\"{}\" why=\"{}\" todo=\"send their "
        "DICOM files to the PACS, or put back the index that names them: docs/backup.md\"",
        unnamed.count, unnamed.directory.string(),
        unnamed.index_is_empty
            ? "index.sqlite is new, and there were results already: has it been lost?"
            : "index.sqlite is older than they are or damaged, or a crash came between");
  }
  ISO_RETURN_IF_ERROR(OpenCatalog());
  ISO_ASSIGN_OR_RETURN(results_, InBackground([&] {
                         return dicom::DicomResultStore::Create(*archive_,
                                                                RoutesOf(config.dicom_node()));
                       }));
  ISO_ASSIGN_OR_RETURN(
      calibrations_,
      calibrations::Store::Open(
          {.directory = std::filesystem::path(config.archive_directory()) / "calibrations"}));
  for (const std::string& repair : calibrations_->repairs()) {
    spdlog::warn("event=calibrations_repaired what=\"{}\"", repair);
  }
  ISO_ASSIGN_OR_RETURN(
      quality_, quality_records::Store::Open(
                    {.directory = std::filesystem::path(config.archive_directory()) / "quality",
                     .conditions_of_job = [this](const std::string& job_id) {
                       return ConditionsOfJob(*table_, job_id);
                     }}));
  for (const std::string& repair : quality_->repairs()) {
    spdlog::warn("event=quality_repaired what=\"{}\"", repair);
  }
  auto spool = spool::Spool::Open(SpoolOptionsOf(config));
  ISO_RETURN_IF_ERROR(
      OfDirectory("spool.directory", config::SpoolDirectory(config), spool.status()));
  spool_ = *std::move(spool);
  if (spool_->is_new()) {
    spdlog::warn("event=spool_created directory=\"{}\" todo=\"{}\"", config::SpoolDirectory(config),
                 kWhatToDo);
  }
  traces_ = OpenTraces(config, configuration_.trace_headers, *archive_);
  observer_->SetTraces(traces_.get());
  return OpenReplicas();
}

absl::Status Service::OpenCatalog() {
  const v1::ClusterConfig& cluster = configuration_.config.cluster();
  if (!cluster.has_shared_index()) {
    // What changes now, a shared index that is configured later would not get to know.
    ISO_RETURN_IF_ERROR(archive_->changes().Forget());
    own_catalog_ = std::make_unique<archive::OwnCatalog>(*archive_);
    return absl::OkStatus();
  }
  ISO_ASSIGN_OR_RETURN(shared_index_,
                       cluster_index::ClusterIndex::Start(
                           {.connection = configuration_.shared_index,
                            .node = cluster.node_name(),
                            .nodes = {cluster.node().begin(), cluster.node().end()},
                            .archives = cluster.shared_index().archives(),
                            .answer = absl::Seconds(cluster.shared_index().answer_seconds())},
                           *archive_));
  return absl::OkStatus();
}

archive::Catalog& Service::Catalog() const {
  return shared_index_ != nullptr ? shared_index_->catalog() : *own_catalog_;
}

absl::Status Service::TakeUpJobs() {
  const v1::ServerConfig& config = configuration_.config;
  const dicom::NodeOptions& dicom = configuration_.dicom;
  table_ = std::make_unique<jobs::JobTable>(
      *archive_, observer_.get(), [this](const std::string& id) { (void)spool_->Remove(id); });
  ISO_RETURN_IF_ERROR(table_->Load(absl::Now(), ResumableFrom(*spool_)));
  for (const jobs::DamagedRecord& record : table_->damaged()) {
    spdlog::error("event=job_record_damaged job={} error=\"{}\"", record.job_id,
                  record.what.ToString());
  }
  RecallSpeeds(*table_, *devices_);
  if (config.dicom_node().has_worklist()) {
    worklist_ =
        std::make_unique<dicom::DicomWorklist>(PeerOf(dicom, config.dicom_node().worklist().peer()),
                                               dicom, ObserverOf(*metrics_, "worklist"));
  }
  if (config.dicom_node().has_mpps()) {
    ISO_ASSIGN_OR_RETURN(
        procedure_steps_,
        dicom::ProcedureSteps::Start(
            {.peer = PeerOf(dicom, config.dicom_node().mpps().peer()),
             .node = dicom,
             .file = std::filesystem::path(config.archive_directory()) / "procedure-steps.sqlite",
             .observer = ObserverOf(*metrics_, "procedure_step")},
            *archive_, *table_));
  }
  observer_->SetProcedureSteps(procedure_steps_.get());
  return OpenKeeper();
}

absl::Status Service::StartEngine() {
  const v1::ServerConfig& config = configuration_.config;
  scheduler_ = std::make_unique<scheduler::Scheduler>(
      std::move(devices_->slots), static_cast<int>(config.limits().max_active_jobs()));
  engine_ = std::make_unique<pipeline::Engine>(
      pipeline::EngineEnvironment{.registry = Backends(),
                                  .scheduler = *scheduler_,
                                  .table = *table_,
                                  .spool = Frames(),
                                  .results = *results_,
                                  .observer = *observer_,
                                  .worklist = worklist_.get(),
                                  .calibrations = calibrations_.get()},
      devices_->groups,
      pipeline::EngineOptions{
          .reconnect_limit = absl::Seconds(config.limits().reconnect_seconds()),
          .has_other_nodes = config.cluster().node_size() > 1,
          .handed_back_to = [this](const std::string& job_id) -> std::optional<std::string> {
            return replicas_ == nullptr ? std::nullopt : replicas_->ReclaimedBy(job_id);
          },
          .fault = configuration_.fault,
          .no_device_left =
              [this] {
                no_device_left_ = true;
                on_no_device_left_();
              },
          .decoders = {.add_calibration = rpc::AddCalibration,
                       .acquisition = rpc::TranslateRecord,
                       .refinement = rpc::TranslateRefinementRecord},
          .worklist_timeout = absl::Seconds(config.dicom_node().worklist().timeout_seconds()),
          .reports_procedure_steps = procedure_steps_ != nullptr,
          .trace_parent_of = TraceParentsOf(config.traces()),
          .batch_jobs_per_caller = static_cast<int>(config.limits().batch_jobs_per_caller()),
          .early_refinement_ended = [this](
                                        absl::string_view outcome,
                                        int /*frames*/) { metrics_->OnEarlyRefinement(outcome); }});
  engine_->Recover();
  if (replicated_spool_ != nullptr) replicated_spool_->StartReports();
  ISO_ASSIGN_OR_RETURN(peers_, rpc::PeerWatch::Start(config.cluster()));
  node_ = std::make_unique<node::Node>(NodeOptions(), *engine_, *scheduler_, *table_);
  feed_ = std::make_unique<node::JobFeed>(*table_);
  observer_->SetFeed(feed_.get());
  return absl::OkStatus();
}

absl::Status Service::StartSender() {
  sent_ = std::make_unique<node::SubjectsOfJobs>(*table_, *audit_);
  dicom::SenderOptions options =
      SenderOptionsOf(configuration_.config.dicom_node(), configuration_.dicom);
  options.node.audit = sent_.get();
  if (traces_ != nullptr) {
    traced_sent_ = std::make_unique<traces::Transmissions>(*traces_, *table_, *sent_);
    options.node.audit = traced_sent_.get();
  }
  ISO_ASSIGN_OR_RETURN(
      sender_, dicom::Sender::Start(std::move(options), *archive_,
                                    [this](const std::string& destination, dicom::SendEvent event) {
                                      metrics_->OnDicomSend(destination, dicom::Name(event));
                                    }));
  return absl::OkStatus();
}

void Service::SetStarted() {
  monitor_ = std::make_unique<node::Monitor>(*node_, *activity_,
                                             [this](const std::vector<node::Reason>& reasons) {
                                               grpc_->SetReady(reasons.empty());
                                               feed_->OnNodeChanged();
                                             });
  StartTakeover();
  WatchCertificates();
  node_->SetStarted();
  audit_->Record({.action = audit::Action::kServiceStart});
}

void Service::CheckLocks() const {
  (void)table_->Count();
  (void)scheduler_->active_jobs();
  (void)spool_->usage();
}

absl::Status Service::Drain() {
  constexpr absl::Duration kToCleanUp = absl::Seconds(5);
  const v1::ServerConfig& config = configuration_.config;
  const bool no_device_left = no_device_left_;
  if (no_device_left) RecordNoDevice(config.archive_directory(), absl::Now());
  // Without a device nothing that is waited for would end.
  const double seconds = no_device_left ? 0 : config.drain_seconds();
  const absl::Time deadline = absl::Now() + absl::Seconds(seconds);
  spdlog::info("event=drain_begins seconds={}", seconds);
  takeover_.reset();
  node_->SetStopping();
  grpc_->StopServing();
  engine_->StopAdmitting();
  if (simulated_scans_ != nullptr) simulated_scans_->Stop();
  if (!engine_->WaitUntilIdle(deadline)) {
    // The next start goes on with them.
    engine_->SuspendAll();
    engine_->WaitUntilIdle(absl::Now() + kToCleanUp);
  }
  // What is left are answers on their way, watches and downloads.
  grpc_->Shutdown(std::clamp(deadline, absl::Now(), absl::Now() + kToCleanUp));
  spdlog::info("event=drain_ends");
  // The node goes last: what a draining job has stored can still be pulled.
  if (dicom_node_ != nullptr) dicom_node_->Stop();
  feed_->Stop();
  web_.reset();
  sender_->Stop();
  metrics_->Stop();
  audit_->Record({.action = audit::Action::kServiceStop});
  if (!no_device_left) return absl::OkStatus();
  return ops::DeviceLostError(
      "all devices are lost; active jobs go on when the service starts again");
}

}  // namespace isocenter::daemon
