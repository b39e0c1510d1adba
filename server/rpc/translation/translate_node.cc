#include "server/rpc/translation/translate_node.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/translation/translate.h"

namespace isocenter::rpc {
namespace {

/// Far above what there can be, and far below what sums of it overflow at.
constexpr uint64_t kMost = uint64_t{1} << 60;

/// A count or bytes that another node tells.
absl::Status Take(const char* field, uint64_t told, int64_t& value) {
  if (told > kMost) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is ", told, "; legal is at most ", kMost));
  }
  value = static_cast<int64_t>(told);
  return absl::OkStatus();
}

absl::Status Take(const char* field, uint32_t told, int& value) {
  if (told > static_cast<uint32_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is ", told, "; legal is at most ", std::numeric_limits<int>::max()));
  }
  value = static_cast<int>(told);
  return absl::OkStatus();
}

absl::StatusOr<node::Replication> ReplicationFromProto(const v1::NodeReplication& told) {
  node::Replication replication{.keeper = told.keeper(), .keeper_reached = told.keeper_reached()};
  ISO_RETURN_IF_ERROR(Take("kept_jobs", told.kept_jobs(), replication.kept_jobs));
  ISO_RETURN_IF_ERROR(Take("degraded_jobs", told.degraded_jobs(), replication.degraded_jobs));
  for (const v1::NodeOrigin& origin : told.origin()) {
    node::Replication::Origin& of = replication.origins.emplace_back();
    of.node = origin.node();
    ISO_RETURN_IF_ERROR(Take("copies", origin.copies(), of.copies));
    ISO_RETURN_IF_ERROR(Take("orphans", origin.orphans(), of.orphans));
    ISO_RETURN_IF_ERROR(Take("being_taken", origin.being_taken(), of.being_taken));
  }
  ISO_RETURN_IF_ERROR(Take("used_bytes", told.used_bytes(), replication.used_bytes));
  ISO_RETURN_IF_ERROR(Take("capacity_bytes", told.capacity_bytes(), replication.capacity_bytes));
  ISO_RETURN_IF_ERROR(Take("taken_over_jobs", told.taken_over_jobs(), replication.taken_over_jobs));
  return replication;
}

void Fill(const node::Summary& summary, v1::NodeStatus& status) {
  status.set_node(summary.node);
  status.set_server(summary.server);
  status.set_version(summary.version);
  *status.mutable_start_time() = TimestampToProto(summary.start_time);
  status.set_ready(summary.ready);
  for (const std::string& reason : summary.reasons) status.add_reason()->set_message(reason);
  if (summary.is_drained) status.mutable_drain();
  status.set_active_jobs(static_cast<uint32_t>(summary.active_jobs));
  status.set_max_active_jobs(static_cast<uint32_t>(summary.max_active_jobs));
  status.set_queue_chunks(summary.queue_chunks);
  for (const std::string& room : summary.rooms) status.add_station_name(room);
  for (const node::DeviceSummary& device : summary.devices) {
    v1::NodeDevice& out = *status.add_device();
    out.set_name(device.name);
    out.set_healthy(device.healthy);
    out.set_speed_gups(device.speed_gups);
  }
  status.set_spool_free_bytes(summary.spool_free_bytes);
  status.set_archive_free_bytes(summary.archive_free_bytes);
  if (summary.replication) *status.mutable_replication() = ToProto(*summary.replication);
}

}  // namespace

v1::NodeReplication ToProto(const node::Replication& replication) {
  v1::NodeReplication message;
  message.set_keeper(replication.keeper);
  message.set_keeper_reached(replication.keeper_reached);
  message.set_kept_jobs(replication.kept_jobs);
  message.set_degraded_jobs(replication.degraded_jobs);
  for (const node::Replication::Origin& origin : replication.origins) {
    v1::NodeOrigin& out = *message.add_origin();
    out.set_node(origin.node);
    out.set_copies(origin.copies);
    out.set_orphans(origin.orphans);
    out.set_being_taken(origin.being_taken);
  }
  message.set_used_bytes(replication.used_bytes);
  message.set_capacity_bytes(replication.capacity_bytes);
  message.set_taken_over_jobs(replication.taken_over_jobs);
  return message;
}

v1::NodePeer ToProto(const node::Peer& peer) {
  v1::NodePeer message;
  message.set_node(peer.node);
  message.set_address(peer.address);
  message.set_reachable(peer.reachable);
  if (peer.seen != absl::InfinitePast()) *message.mutable_seen_time() = TimestampToProto(peer.seen);
  message.set_error(peer.error);
  if (peer.summary) Fill(*peer.summary, *message.mutable_status());
  return message;
}

absl::StatusOr<node::Summary> SummaryFromProto(const v1::NodeStatus& status) {
  node::Summary summary{.node = status.node(),
                        .server = status.server(),
                        .version = status.version(),
                        .start_time = absl::FromUnixSeconds(status.start_time().seconds()),
                        .ready = status.ready(),
                        .is_drained = status.has_drain(),
                        .active_jobs = status.active_jobs(),
                        .max_active_jobs = status.max_active_jobs()};
  constexpr int64_t kLatest = 253402300799;  // of RFC 3339
  if (status.start_time().seconds() < 0 || status.start_time().seconds() > kLatest) {
    return absl::InvalidArgumentError(absl::StrCat("start_time is ", status.start_time().seconds(),
                                                   " s; legal is 0 to ", kLatest));
  }
  ISO_RETURN_IF_ERROR(Take("queue_chunks", status.queue_chunks(), summary.queue_chunks));
  for (const v1::NotReadyReason& reason : status.reason()) {
    summary.reasons.push_back(reason.message());
  }
  summary.rooms = {status.station_name().begin(), status.station_name().end()};
  for (const v1::NodeDevice& device : status.device()) {
    if (!std::isfinite(device.speed_gups())) {
      return absl::InvalidArgumentError(
          absl::StrCat("speed_gups is ", device.speed_gups(), "; legal is a finite number"));
    }
    summary.devices.push_back({device.name(), device.healthy(), device.speed_gups()});
  }
  ISO_RETURN_IF_ERROR(
      Take("spool_free_bytes", status.spool_free_bytes(), summary.spool_free_bytes));
  ISO_RETURN_IF_ERROR(
      Take("archive_free_bytes", status.archive_free_bytes(), summary.archive_free_bytes));
  if (status.has_replication()) {
    ISO_ASSIGN_OR_RETURN(summary.replication, ReplicationFromProto(status.replication()));
  }
  return summary;
}

}  // namespace isocenter::rpc
