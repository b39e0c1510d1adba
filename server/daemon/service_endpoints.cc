// What a service offers at its addresses: metrics, gRPC, DICOM and the web.
#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/audit/trail.h"
#include "server/config/dicom_config.h"
#include "server/config/server_config.h"
#include "server/daemon/observer.h"
#include "server/daemon/service.h"
#include "server/daemon/simulated_scans.h"
#include "server/daemon/slots.h"
#include "server/daemon/start_advice.h"
#include "server/daemon/web_refiner.h"
#include "server/dicom/scp/node.h"
#include "server/dicom/worklist/procedure_steps.h"
#include "server/dicomweb/routes.h"
#include "server/http/queued_transfers.h"
#include "server/http/web_server.h"
#include "server/metrics/metrics.h"
#include "server/node/job_feed.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/rpc/library_log.h"
#include "server/rpc/peers/peer_watch.h"
#include "server/rpc/server.h"
#include "server/spool/spool.h"
#include "server/storage/files.h"
#include "server/viewer/volume_cache.h"

namespace isocenter::daemon {
namespace {

/// Whether the disk takes data: the kernel makes one that fails read-only.
absl::Status CheckDisk(const std::string& directory) {
  struct statvfs about {};
  if (statvfs(directory.c_str(), &about) != 0) {
    return storage::FileError(errno, "use", directory);
  }
  if ((about.f_flag & ST_RDONLY) != 0) {
    return absl::InternalError("the spool's disk is read-only");
  }
  return absl::OkStatus();
}

/// What the result of a scan takes whose header names neither protocol nor grid.
int64_t BytesOfUsualScan(const config::ProtocolBook& protocols, const jobs::ResultStore& results) {
  const config::Protocol& usual = protocols.all().at(protocols.default_name());
  const int size = usual.auto_grid_size;
  return results.StoredBytes(
      usual.fixed_grid.value_or(CenteredGrid(size, size, size, {.x = 1, .y = 1, .z = 1})),
      usual.dicom_forms);
}

/// `dicom_node`: may be null.
http::ServiceAddresses AddressesOf(const Configuration& configuration, const rpc::Server& grpc,
                                   const dicom::Node* dicom_node) {
  const v1::TlsConfig& tls = configuration.config.grpc_tls();
  http::ServiceAddresses told{.grpc = grpc.address(),
                              .grpc_tls = !tls.certificate_file().empty(),
                              .grpc_client_certificates = !tls.client_ca_file().empty()};
  if (dicom_node == nullptr) return told;
  const dicom::NodeOptions& options = configuration.dicom;
  told.dicom_ae_title = options.ae_title;
  told.dicom_host = options.address;
  if (!options.tls_only) told.dicom_port = dicom_node->port();
  if (options.tls != nullptr) told.dicom_tls_port = dicom_node->tls_port();
  return told;
}

/// Where the page is: as configured, beside an installed program, or in the source tree.
std::filesystem::path PageDirectory(const v1::WebConfig& config) {
  if (!config.page_directory().empty()) return config.page_directory();
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed =
      program.parent_path().parent_path() / "share/isocenter/web";
  if (!error && std::filesystem::is_directory(installed, error)) return installed;
  return ISOCENTER_SOURCE_PAGE;
}

std::vector<http::TransferDestination> DestinationsOf(const v1::DicomNodeConfig& config) {
  std::vector<http::TransferDestination> destinations;
  for (const v1::DicomDestination& destination : config.destination()) {
    http::TransferDestination& shown = destinations.emplace_back();
    shown.name = config::DestinationName(destination);
    if (destination.has_dicomweb()) {
      shown.url = destination.dicomweb().url();
      continue;
    }
    for (const v1::DicomPeer& peer : config.peer()) {
      if (peer.ae_title() != destination.ae_title()) continue;
      shown.host = peer.host();
      shown.port = static_cast<int>(peer.port());
    }
  }
  return destinations;
}

/// `address` with the port that was chosen.
std::string WithPort(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

}  // namespace

node::NodeOptions Service::NodeOptions() const {
  const v1::ServerConfig& config = configuration_.config;
  return {
      .version = ISOCENTER_VERSION,
      .backend = devices_->backend,
      .max_active_jobs = static_cast<int>(config.limits().max_active_jobs()),
      .scan_bytes = BytesOfUsualScan(configuration_.protocols, *results_),
      .spool =
          [this, directory = config::SpoolDirectory(config)] {
            const spool::SpoolUsage usage = spool_->usage();
            const absl::StatusOr<uint64_t> free = storage::FreeBytes(directory);
            absl::Status error = CheckDisk(directory);
            if (error.ok()) error = free.status();
            return node::SpoolState{.capacity_bytes = usage.capacity_bytes,
                                    .used_bytes = usage.used_bytes,
                                    .reclaimable_bytes = usage.reclaimable_bytes,
                                    .disk_free_bytes = free.ok() ? static_cast<int64_t>(*free) : 0,
                                    .last_sync_seconds = usage.last_sync_seconds,
                                    .error = std::move(error)};
          },
      .name = config.cluster().node_name(),
      .archive_free_bytes =
          [this] {
            const absl::StatusOr<jobs::Disk> disk = archive_->GetDisk();
            return disk.ok() ? disk->free_bytes : 0;
          },
      .replication = [this] { return ReplicationShown(); },
      .peers = [this] { return peers_->Get(); },
      .access =
          [this] {
            const v1::ServerConfig& config = configuration_.config;
            const roles::Roster& roster = *configuration_.roster;
            return node::Access{.tls = !config.grpc_tls().certificate_file().empty(),
                                .client_certificates = !config.grpc_tls().client_ca_file().empty(),
                                .named_certificates = config.web().certificate_size(),
                                .tokens = roster.takes_tokens(),
                                .tokens_file_ok = roster.tokens_are_right(),
                                .openid_issuer = config.web().openid().issuer()};
          },
      .drain_file = node::KeptDrain::FileIn(config.archive_directory())};
}

absl::Status Service::ServeMetrics() {
  const std::string& address = configuration_.config.metrics_address();
  ISO_RETURN_IF_ERROR(metrics_->Serve(address, MetricSources()));
  addresses_.metrics = WithPort(address, metrics_->port());
  return absl::OkStatus();
}

absl::Status Service::ServeGrpc() {
  rpc::TellOfHandshakes([this](const std::string& address, const std::string& why) {
    audit::Event event;
    event.action = audit::Action::kAssociate;
    event.outcome = audit::Outcome::kRefused;
    event.actor.address = address;
    event.service = "grpc";
    event.detail = absl::StrCat("TLS: ", why);
    audit_->Record(std::move(event));
  });
  ISO_ASSIGN_OR_RETURN(
      grpc_, rpc::Server::Start(configuration_.config, configuration_.protocols, *table_, *engine_,
                                *results_, *observer_,
                                {.worklist = worklist_.get(),
                                 .audit = audit_.get(),
                                 .transfers = &archive_->transfers(),
                                 .node = node_.get(),
                                 .roster = configuration_.roster.get(),
                                 .procedure_steps = procedure_steps_.get(),
                                 .calibrations = calibrations_.get(),
                                 .quality = quality_.get(),
                                 .replicas = replicas_.get(),
                                 .on_caller_refused = [this](absl::string_view limit) {
                                   metrics_->OnCallerRefused(limit);
                                 }}));
  addresses_.grpc = grpc_->address();
  return absl::OkStatus();
}

absl::Status Service::ServeDicom() {
  const dicom::NodeOptions& options = configuration_.dicom;
  if (configuration_.config.dicom_node().disabled()) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(
      dicom_node_, dicom::Node::Start(
                       options, *archive_,
                       [this](dicom::NodeOperation operation, dicom::NodeOutcome outcome) {
                         metrics_->OnDicomOperation(dicom::Name(operation), dicom::Name(outcome));
                       },
                       &Catalog()));
  std::string& address = addresses_.dicom;
  address.clear();
  if (!options.tls_only) address = absl::StrCat(options.address, ":", dicom_node_->port());
  if (options.tls != nullptr) {
    absl::StrAppend(&address, address.empty() ? "" : ",", options.address, ":",
                    dicom_node_->tls_port(), "/tls");
  }
  return absl::OkStatus();
}

absl::Status Service::ServeWeb() {
  const v1::ServerConfig& config = configuration_.config;
  const v1::WebConfig& wanted = config.web();
  if (wanted.disabled()) return absl::OkStatus();
  std::error_code none;
  if (!wanted.page_directory().empty() &&
      !std::filesystem::exists(std::filesystem::path(wanted.page_directory()) / "index.html",
                               none)) {
    return absl::NotFoundError(absl::StrCat("web.page_directory is ", wanted.page_directory(),
                                            ", which has no index.html; legal is the directory of "
                                            "the page, or empty: where it is installed"));
  }
  auto volumes = viewer::VolumeCache::Open(config::VolumeCacheDirectory(config),
                                           static_cast<int64_t>(wanted.volume_cache_bytes()),
                                           [this] { return engine_->promised_disk_bytes(); });
  ISO_RETURN_IF_ERROR(OfDirectory("web.volume_cache_directory",
                                  config::VolumeCacheDirectory(config), volumes.status()));
  volumes_ = *std::move(volumes);
  // A deleted volume leaves nothing behind. The cache outlives the web server, not the table.
  deletions_ = table_->SubscribeAll(
      [volumes = std::weak_ptr<viewer::VolumeCache>(volumes_), this](const std::string& id) {
        const auto cache = volumes.lock();
        if (cache != nullptr && !table_->Get(id).ok()) cache->Forget(id);
      });
  if (config.dicom_node().destination_size() > 0) {
    transfers_ = std::make_unique<http::QueuedTransfers>(DestinationsOf(config.dicom_node()),
                                                         archive_->transfers());
  }
  refiner_ = std::make_unique<WebRefiner>(configuration_.protocols, *table_, *engine_);
  if (wanted.simulated_scans()) {
    simulated_scans_ =
        std::make_unique<SimulatedScans>(configuration_.protocols, *table_, *engine_);
  }
  std::function<void(http::Router&)> add_dicomweb;
  if (!wanted.dicomweb().disabled()) {
    add_dicomweb = [&](http::Router& router) {
      dicomweb::AddRoutes({Catalog(), RoleOf(wanted.dicomweb().least_role())}, router);
    };
  }
  const http::WebOptions options{.address = wanted.address(),
                                 .tls = {.certificate_file = wanted.tls().certificate_file(),
                                         .private_key_file = wanted.tls().private_key_file(),
                                         .client_ca_file = wanted.tls().client_ca_file()},
                                 .page_directory = PageDirectory(wanted)};
  ISO_ASSIGN_OR_RETURN(
      web_, http::WebServer::Start(
                options, {.roster = *configuration_.roster,
                          .node = *node_,
                          .activity = *activity_,
                          .feed = *feed_,
                          .table = *table_,
                          .engine = *engine_,
                          .results = *results_,
                          .volumes = *volumes_,
                          .transfers = transfers_.get(),
                          .refiner = refiner_.get(),
                          .quality = quality_.get(),
                          .calibrations = calibrations_.get(),
                          .simulator = simulated_scans_.get(),
                          .audit = audit_.get(),
                          .add_dicomweb = add_dicomweb,
                          .addresses = AddressesOf(configuration_, *grpc_, dicom_node_.get())}));
  addresses_.web = WithPort(wanted.address(), web_->port());
  return absl::OkStatus();
}

}  // namespace isocenter::daemon
