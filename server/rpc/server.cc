#include "server/rpc/server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/credentials.h"

namespace isocenter::rpc {
namespace {

// Streams that may be open beyond the active jobs: those that wait for their answer, or to be told
// that there is no room.
constexpr int kSpareStreams = 16;
constexpr int kMaxStreamsPerConnection = 100;
constexpr int kHttp2FrameBytes = 1 << 20;
constexpr int kStreamWindowBytes = 8 << 20;
// The synchronous services, reflection alone, share these threads.
constexpr int kMaxThreads = 16;

void SetLimits(const v1::LimitsConfig& limits, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.max_message_bytes()));
  // gRPC slows down and then drops clients when what it buffers for all of them exceeds this.
  grpc::ResourceQuota quota("isocenter");
  quota.SetMaxThreads(kMaxThreads);
  quota.Resize(std::max<size_t>(size_t{512} << 20, size_t{8} * limits.max_message_bytes()));
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  // HTTP/2 in large pieces and with a wide window: a detector frame has megabytes, and each of its
  // usual 16 KiB pieces would be handled on its own on both sides.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
  // Two servers on one port would share the clients between them.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Finds dead peers within a minute and refuses those that ping too often.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 5);
  // A connection that does not speak HTTP/2 (or TLS) in time is dropped.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
}

}  // namespace

Server::Server(const v1::ServerConfig& config, const config::ProtocolBook& protocols,
               jobs::JobTable& table, pipeline::Engine& engine, jobs::ResultStore& results,
               jobs::JobObserver& observer, const Partners& partners)
    : cluster_(config.cluster()),
      guard_(partners.roster),
      context_{.guard = guard_,
               .engine = engine,
               .table = table,
               .protocols = protocols,
               .observer = observer,
               .max_message_bytes = config.limits().max_message_bytes(),
               .idle_limit = absl::Seconds(config.limits().idle_stream_seconds()),
               .max_streams = static_cast<int>(config.limits().max_active_jobs()) + kSpareStreams,
               .cluster = cluster_,
               .audit = CallAudit(partners.audit, table)},
      acquisitions_(context_),
      jobs_(guard_, table, engine, results, protocols, CallAudit(partners.audit, table),
            partners.transfers),
      protocols_(guard_, protocols),
      worklist_(guard_, partners.worklist),
      transfers_(guard_, table, partners.transfers),
      procedure_steps_(guard_, partners.procedure_steps),
      node_(partners.node == nullptr ? nullptr
                                     : std::make_unique<NodeService>(guard_, *partners.node)) {}

std::vector<Server::NamedService> Server::Services() {
  std::vector<NamedService> services = {
      {v1::AcquisitionService::service_full_name(), &acquisitions_},
      {v1::JobService::service_full_name(), &jobs_},
      {v1::ProtocolService::service_full_name(), &protocols_},
      {v1::WorklistService::service_full_name(), &worklist_},
      {v1::TransferService::service_full_name(), &transfers_},
      {v1::ProcedureStepService::service_full_name(), &procedure_steps_}};
  if (node_ != nullptr) services.push_back({v1::NodeService::service_full_name(), node_.get()});
  return services;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const v1::ServerConfig& config, const config::ProtocolBook& protocols, jobs::JobTable& table,
    pipeline::Engine& engine, jobs::ResultStore& results, jobs::JobObserver& observer,
    const Partners& partners) {
  ISO_ASSIGN_OR_RETURN(const auto credentials, MakeServerCredentials(config.grpc_tls()));
  std::unique_ptr<Server> server(
      new Server(config, protocols, table, engine, results, observer, partners));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(config.limits(), builder);
  int port = 0;
  builder.AddListeningPort(config.grpc_address(), credentials, &port);
  const std::vector<NamedService> services = server->Services();
  for (const NamedService& each : services) builder.RegisterService(each.service);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("grpc_address is ", config.grpc_address(),
                     ", which cannot be listened on (taken, or TLS files that do not match)"));
  }
  const std::string& given = config.grpc_address();
  server->address_ = absl::StrCat(given.substr(0, given.rfind(':')), ":", port);
  auto& health = *server->server_->GetHealthCheckService();
  for (const NamedService& each : services) health.SetServingStatus(each.name, true);
  server->SetReady(true);
  return server;
}

Server::~Server() {
  if (server_ != nullptr) Shutdown(absl::Now());
}

void Server::SetReady(bool ready) {
  absl::MutexLock lock(&health_mutex_);
  if (stopped_serving_) return;
  auto& health = *server_->GetHealthCheckService();
  health.SetServingStatus("", ready);
  health.SetServingStatus(v1::AcquisitionService::service_full_name(), ready);
}

void Server::StopServing() {
  absl::MutexLock lock(&health_mutex_);
  stopped_serving_ = true;
  server_->GetHealthCheckService()->SetServingStatus(false);
}

void Server::Shutdown(absl::Time deadline) {
  // gRPC itself would wait for idle connections as well, which clients may keep for minutes.
  constexpr absl::Duration kToSendTheLastBytes = absl::Milliseconds(200);
  context_.calls.WaitUntilNone(deadline);
  acquisitions_.quotes().WaitUntilNone(deadline);
  jobs_.calls().WaitUntilNone(deadline);
  worklist_.Interrupt();
  server_->Shutdown(absl::ToChronoTime(absl::Now() + kToSendTheLastBytes));
  server_->Wait();
  // gRPC is done with every call, but the job table or the engine may still be telling one, which
  // then counts itself out.
  context_.calls.WaitUntilNone(absl::InfiniteFuture());
  acquisitions_.quotes().WaitUntilNone(absl::InfiniteFuture());
  jobs_.calls().WaitUntilNone(absl::InfiniteFuture());
  worklist_.calls().WaitUntilNone(absl::InfiniteFuture());
}

}  // namespace isocenter::rpc
