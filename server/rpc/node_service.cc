#include "server/rpc/node_service.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/rpc/translation/translate.h"
#include "server/rpc/translation/translate_node.h"

namespace isocenter::rpc {
namespace {

/// Who asks, for the log and for everybody who asks why: the holder of the token or certificate,
/// else as he says.
absl::StatusOr<std::string> AuthorOf(const Permit& permit, const std::string& by) {
  constexpr size_t kLongest = 64;
  if (by.size() > kLongest || std::ranges::any_of(by, absl::ascii_iscntrl)) {
    return absl::InvalidArgumentError(absl::StrCat("by has ", by.size(), " bytes; legal are up to ",
                                                   kLongest, " without control characters"));
  }
  return permit.actor.name.empty() && !by.empty() ? by : permit.caller();
}

/// Who has neither token nor certificate may have said who he is.
void RecordOf(const Permit& permit, audit::Action action, const absl::Status& outcome,
              const absl::StatusOr<std::string>& by, const std::string& reason) {
  permit.Record(action, jobs::Job(), outcome, [&](audit::Event& event) {
    if (outcome.ok()) event.detail = absl::StrCat("by '", *by, "': ", reason);
  });
}

}  // namespace

void NodeService::Describe(v1::NodeStatus& response, bool with_peers) const {
  const node::NodeStatus status = node_.Status();
  const node::Summary summary = node_.Summary();
  response.set_server(status.server);
  response.set_version(status.version);
  response.set_backend(status.backend);
  *response.mutable_start_time() = TimestampToProto(status.start_time);
  response.set_ready(status.ready());
  for (const node::Reason& reason : status.reasons) {
    v1::NotReadyReason& out = *response.add_reason();
    out.set_component(reason.component);
    out.set_message(reason.message);
  }
  if (status.drained) {
    v1::NodeDrain& drain = *response.mutable_drain();
    *drain.mutable_since_time() = TimestampToProto(status.drained->since);
    drain.set_reason(status.drained->reason);
    drain.set_by(status.drained->by);
  }
  response.set_active_jobs(status.active_jobs);
  response.set_max_active_jobs(status.max_active_jobs);
  response.set_queue_chunks(status.queue_chunks);
  for (const std::string& room : summary.rooms) response.add_station_name(room);
  response.set_node(summary.node);
  response.set_spool_free_bytes(summary.spool_free_bytes);
  response.set_archive_free_bytes(summary.archive_free_bytes);
  if (summary.replication) *response.mutable_replication() = ToProto(*summary.replication);
  v1::NodeAccess& access = *response.mutable_access();
  access.set_tls(status.access.tls);
  access.set_client_certificates(status.access.client_certificates);
  access.set_named_certificates(status.access.named_certificates);
  access.set_tokens(status.access.tokens);
  access.set_tokens_file_ok(status.access.tokens_file_ok);
  access.set_openid_issuer(status.access.openid_issuer);
  if (with_peers) {
    for (const node::Peer& peer : node_.Peers()) *response.add_peer() = ToProto(peer);
  }
  for (const node::DeviceState& device : node_.Devices()) {
    v1::NodeDevice& out = *response.add_device();
    out.set_name(device.name);
    out.set_healthy(device.healthy);
    out.set_quarantine_reason(device.quarantine_reason);
    out.set_memory_limit_bytes(device.memory_limit_bytes);
    out.set_memory_used_bytes(device.memory_used_bytes);
    out.set_speed_gups(device.speed_gups);
    out.set_queue_chunks(device.queue_chunks);
    out.set_live_wait_seconds(device.wait_seconds[static_cast<size_t>(jobs::JobClass::kLive)]);
  }
}

void NodeService::OnGetNodeStatus(UnaryCall<v1::GetNodeStatusRequest, v1::NodeStatus>& call) {
  Describe(call.response(), !call.request().without_peers());
  call.Answer(absl::OkStatus());
}

void NodeService::OnDrainNode(UnaryCall<v1::DrainNodeRequest, v1::NodeStatus>& call) {
  const Permit& permit = call.permit();
  const absl::StatusOr<std::string> by = AuthorOf(permit, call.request().by());
  const absl::Status drained = by.ok() ? node_.Drain(call.request().reason(), *by) : by.status();
  if (drained.ok()) Describe(call.response(), /*with_peers=*/true);
  RecordOf(permit, audit::Action::kDrain, drained, by, call.request().reason());
  call.Answer(drained);
}

void NodeService::OnResumeNode(UnaryCall<v1::ResumeNodeRequest, v1::NodeStatus>& call) {
  const Permit& permit = call.permit();
  const absl::StatusOr<std::string> by = AuthorOf(permit, call.request().by());
  const absl::Status resumed = by.ok() ? node_.Resume(*by) : by.status();
  if (resumed.ok()) Describe(call.response(), /*with_peers=*/true);
  RecordOf(permit, audit::Action::kUndrain, resumed, by, "");
  call.Answer(resumed);
}

}  // namespace isocenter::rpc
