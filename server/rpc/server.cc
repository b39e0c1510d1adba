#include "server/rpc/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/acquisition_service.h"
#include "server/rpc/calibrations/calibration_service.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/connections/listener.h"
#include "server/rpc/connections/stream_watch.h"
#include "server/rpc/connections/ticker.h"
#include "server/rpc/credentials.h"
#include "server/rpc/destination_service.h"
#include "server/rpc/job_service.h"
#include "server/rpc/library_log.h"
#include "server/rpc/node_service.h"
#include "server/rpc/procedure_step_service.h"
#include "server/rpc/protocol_service.h"
#include "server/rpc/quality_service.h"
#include "server/rpc/replicas/replica_service.h"
#include "server/rpc/transfer_service.h"
#include "server/rpc/worklist_service.h"

namespace isocenter::rpc {
namespace {

constexpr int kMaxStreamsPerConnection = 100;
constexpr int kHttp2FrameBytes = 1 << 20;
// What a client may send on a stream that nobody reads.
constexpr int kStreamWindowBytes = 1 << 20;
constexpr int kMostMetadataBytes = 16 << 10;
// The synchronous services, reflection alone, share these threads.
constexpr int kMaxThreads = 16;
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);

/// How many this process may have.
int64_t Descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

/// What gRPC holds at most of what clients send: a message for each acquisition, each copy of
/// another node's and each place of the reception, and what fits the windows of the others.
size_t MostBuffered(const v1::ServerConfig& config) {
  const v1::LimitsConfig& limits = config.limits();
  const size_t messages = limits.max_active_jobs() + CallerQuotas::kSpareStreams +
                          Reception::kPlaces + MostReplicaCalls(config) + 1;  // of a calibration
  return messages * limits.max_message_bytes() +
         size_t{CallerQuotas::kMostCalls} * kStreamWindowBytes;
}

void SetLimits(const v1::ServerConfig& config, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(config.limits().max_message_bytes()));
  // Beyond this gRPC drops any stream, a scan as well: what it buffers has other bounds.
  grpc::ResourceQuota quota("isocenter");
  quota.SetMaxThreads(kMaxThreads);
  quota.Resize(MostBuffered(config));
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  // HTTP/2 in large pieces and with a wide window: a detector frame has megabytes, and each of its
  // usual 16 KiB pieces would be handled on its own on both sides.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
  // Probing would widen the window to what the network carries: for each stream that is not read,
  // as much memory again.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // The accounts that StreamWatch reads.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 1);
  // A megabyte of zeros, compressed, would be a gigabyte before any limit is asked. Ours do not
  // compress.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  // A token of an identity provider has up to 8 KiB, as much as gRPC takes of all metadata.
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  // Finds dead peers within a minute and refuses those that ping too often.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 5);
  // A connection that does not speak HTTP/2 (or TLS) in time is dropped.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
}

}  // namespace

class Server::Impl {
 public:
  Impl(const v1::ServerConfig& config, const config::ProtocolBook& protocols, jobs::JobTable& table,
       pipeline::Engine& engine, jobs::ResultStore& results, jobs::JobObserver& observer,
       const Partners& partners);
  ~Impl();

  absl::Status Start(const v1::ServerConfig& config);
  const std::string& address() const { return address_; }
  void SetReady(bool ready);
  absl::Status ReadCertificates() { return tls_->ReadAgain(); }
  void StopServing();
  void Shutdown(absl::Time deadline);

 private:
  struct NamedService {
    const char* name;  // with its package, as health and reflection know it
    grpc::Service* service;
  };
  /// All that are served.
  std::vector<NamedService> Services();

  const v1::ClusterConfig cluster_;
  const Guard guard_;
  const std::function<void(absl::string_view limit)> on_caller_refused_;
  AcquisitionContext context_;
  AcquisitionService acquisitions_;
  JobService jobs_;
  ProtocolService protocols_;
  WorklistService worklist_;
  TransferService transfers_;
  DestinationService destinations_;
  ProcedureStepService procedure_steps_;
  CalibrationService calibrations_;
  QualityService quality_;
  std::unique_ptr<NodeService> node_;         // null: there is none
  std::unique_ptr<ReplicaService> replicas_;  // null: no copies are kept
  std::string address_;
  std::shared_ptr<TlsCredentials> tls_;  // null: plain text. The server calls it
  absl::Mutex health_mutex_;
  bool stopped_serving_ ABSL_GUARDED_BY(health_mutex_) = false;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;  // hands connections to the server
  std::unique_ptr<StreamWatch> stream_watch_;
  std::unique_ptr<Ticker> ticker_;  // until the server shuts down
};

Server::Impl::Impl(const v1::ServerConfig& config, const config::ProtocolBook& protocols,
                   jobs::JobTable& table, pipeline::Engine& engine, jobs::ResultStore& results,
                   jobs::JobObserver& observer, const Partners& partners)
    : cluster_(config.cluster()),
      guard_({.roster = partners.roster,
              .proxies = {config.grpc_proxy().begin(), config.grpc_proxy().end()},
              .node_name = config.cluster().node_name(),
              .limits = config.limits(),
              .clock = partners.clock,
              .on_refused = partners.on_caller_refused,
              .recorder = partners.audit}),
      on_caller_refused_(partners.on_caller_refused),
      context_{.guard = guard_,
               .engine = engine,
               .table = table,
               .protocols = protocols,
               .observer = observer,
               .max_message_bytes = config.limits().max_message_bytes(),
               .idle_limit = absl::Seconds(config.limits().idle_stream_seconds()),
               .cluster = cluster_,
               .clock = partners.clock,
               .calibrations = partners.calibrations},
      acquisitions_(context_),
      jobs_(guard_, table, engine, results, protocols, partners.transfers,
            absl::Seconds(config.limits().idle_stream_seconds())),
      protocols_(guard_, protocols),
      worklist_(guard_, partners.worklist),
      transfers_(guard_, table, partners.transfers, partners.clock),
      destinations_(guard_, partners.transfers, config.dicom_node()),
      procedure_steps_(guard_, table, partners.procedure_steps),
      calibrations_(guard_, partners.calibrations, engine,
                    absl::Seconds(config.limits().idle_stream_seconds())),
      quality_(guard_, table, protocols, partners.quality),
      node_(partners.node == nullptr ? nullptr
                                     : std::make_unique<NodeService>(guard_, *partners.node)),
      replicas_(partners.replicas == nullptr
                    ? nullptr
                    : std::make_unique<ReplicaService>(guard_, *partners.replicas, config)) {}

std::vector<Server::Impl::NamedService> Server::Impl::Services() {
  std::vector<NamedService> services = {
      {v1::AcquisitionService::service_full_name(), &acquisitions_},
      {v1::JobService::service_full_name(), &jobs_},
      {v1::ProtocolService::service_full_name(), &protocols_},
      {v1::WorklistService::service_full_name(), &worklist_},
      {v1::TransferService::service_full_name(), &transfers_},
      {v1::DestinationService::service_full_name(), &destinations_},
      {v1::ProcedureStepService::service_full_name(), &procedure_steps_},
      {v1::CalibrationService::service_full_name(), &calibrations_},
      {v1::QualityService::service_full_name(), &quality_}};
  if (node_ != nullptr) services.push_back({v1::NodeService::service_full_name(), node_.get()});
  if (replicas_ != nullptr) {
    services.push_back({v1::ReplicaService::service_full_name(), replicas_.get()});
  }
  return services;
}

absl::Status Server::Impl::Start(const v1::ServerConfig& config) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (!config.grpc_tls().certificate_file().empty()) {
    ISO_ASSIGN_OR_RETURN(tls_, TlsCredentials::Read(config.grpc_tls()));
    credentials = tls_;
  }
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(config, builder);
  const std::string& given = config.grpc_address();
  auto listener = Listener::Open(given, MostConnections(Descriptors()));
  if (!listener.ok()) {
    return absl::UnavailableError(
        absl::StrCat("grpc_address is ", given,
                     ", which cannot be listened on: ", std::string(listener.status().message())));
  }
  listener_ = *std::move(listener);
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  const std::vector<NamedService> services = Services();
  for (const NamedService& each : services) builder.RegisterService(each.service);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat(
        "grpc_tls.certificate_file is ", config.grpc_tls().certificate_file(),
        ", which does not go with private_key_file or client_ca_file; legal is PEM that does"));
  }
  address_ = absl::StrCat(given.substr(0, given.rfind(':')), ":", listener_->port());
  stream_watch_ = std::make_unique<StreamWatch>(
      Channelz::OfNewestServer(), listener_->connections(), absl::Now, on_caller_refused_);
  ticker_ = std::make_unique<Ticker>("iso-callers", kBetweenLooks, [this] {
    guard_.reception().Sweep();
    stream_watch_->Look();
  });
  KnowHandshakesBy([this, channelz = Channelz::OfNewestServer(),
                    looked = absl::InfinitePast()]() mutable -> std::vector<std::string> {
    // Of hundreds of connections gRPC's accounts take tens of milliseconds, on a thread that others
    // need for their handshakes: a proxy that comes back after an outage has many that fail.
    constexpr absl::Duration kBetweenAccounts = absl::Seconds(1);
    std::vector<std::string> hosts = listener_->connections().HostsBeside({});
    if (hosts.size() <= 1) return hosts;
    const absl::Time now = SteadyNow();
    if (now - looked < kBetweenAccounts) return {};
    looked = now;
    // gRPC accounts for a connection once its handshake is over.
    std::vector<Peer> known;
    for (const Channelz::Connection& each : channelz.OpenConnections()) known.push_back(each.peer);
    return listener_->connections().HostsBeside(known);
  });
  listener_->Start(std::move(acceptor));
  auto& health = *server_->GetHealthCheckService();
  for (const NamedService& each : services) health.SetServingStatus(each.name, true);
  SetReady(true);
  return absl::OkStatus();
}

Server::Impl::~Impl() {
  if (server_ != nullptr) Shutdown(absl::Now());
}

void Server::Impl::SetReady(bool ready) {
  absl::MutexLock lock(&health_mutex_);
  if (stopped_serving_) return;
  auto& health = *server_->GetHealthCheckService();
  health.SetServingStatus("", ready);
  health.SetServingStatus(v1::AcquisitionService::service_full_name(), ready);
}

void Server::Impl::StopServing() {
  absl::MutexLock lock(&health_mutex_);
  stopped_serving_ = true;
  server_->GetHealthCheckService()->SetServingStatus(false);
}

void Server::Impl::Shutdown(absl::Time deadline) {
  // gRPC itself would wait for idle connections as well, which clients may keep for minutes.
  constexpr absl::Duration kToSendTheLastBytes = absl::Milliseconds(200);
  KnowHandshakesBy(nullptr);
  listener_->Stop();
  context_.calls.WaitUntilNone(deadline);
  jobs_.calls().WaitUntilNone(deadline);
  calibrations_.calls().WaitUntilNone(deadline);
  quality_.calls().WaitUntilNone(deadline);
  worklist_.Interrupt();
  ticker_ = nullptr;
  server_->Shutdown(absl::ToChronoTime(absl::Now() + kToSendTheLastBytes));
  server_->Wait();
  // gRPC is done with every call, but the job table or the engine may still be telling one, which
  // then counts itself out.
  context_.calls.WaitUntilNone(absl::InfiniteFuture());
  jobs_.calls().WaitUntilNone(absl::InfiniteFuture());
  calibrations_.calls().WaitUntilNone(absl::InfiniteFuture());
  quality_.calls().WaitUntilNone(absl::InfiniteFuture());
  worklist_.calls().WaitUntilNone(absl::InfiniteFuture());
  if (replicas_ != nullptr) {
    replicas_->calls().WaitUntilNone(absl::InfiniteFuture());
    replicas_->operators().WaitUntilNone(absl::InfiniteFuture());
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const v1::ServerConfig& config, const config::ProtocolBook& protocols, jobs::JobTable& table,
    pipeline::Engine& engine, jobs::ResultStore& results, jobs::JobObserver& observer,
    const Partners& partners) {
  auto impl = std::make_unique<Impl>(config, protocols, table, engine, results, observer, partners);
  ISO_RETURN_IF_ERROR(impl->Start(config));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::address() const { return impl_->address(); }
absl::Status Server::ReadCertificates() { return impl_->ReadCertificates(); }
void Server::SetReady(bool ready) { impl_->SetReady(ready); }
void Server::StopServing() { impl_->StopServing(); }
void Server::Shutdown(absl::Time deadline) { impl_->Shutdown(deadline); }

}  // namespace isocenter::rpc
