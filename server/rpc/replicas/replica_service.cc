#include "server/rpc/replicas/replica_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/log.h"
#include "server/jobs/job.h"

namespace isocenter::rpc {
namespace {

constexpr int kMostJobs = 10000;
constexpr int64_t kLongestReportBytes = 1 << 20;

v1::Replica ToProto(const replicas::ReplicaStore::Kept& kept) {
  v1::Replica message;
  message.set_job_id(kept.job_id);
  message.mutable_origin()->set_node(kept.origin.node);
  message.mutable_origin()->set_spool_id(kept.origin.spool_id);
  message.set_state(kept.being_taken ? v1::REPLICA_STATE_BEING_TAKEN
                    : kept.is_orphan ? v1::REPLICA_STATE_ORPHANED
                                     : v1::REPLICA_STATE_KEPT);
  message.set_frames(static_cast<uint32_t>(kept.frames));
  message.set_frames_present(static_cast<uint32_t>(kept.present));
  message.set_gaps(static_cast<uint32_t>(kept.gaps));
  message.set_finished(kept.finished);
  message.set_silent_seconds(absl::ToDoubleSeconds(kept.silence));
  message.set_error(std::string(kept.failure.message()));
  return message;
}

void RecordInTrail(const Permit& permit, const char* what, const std::string& job_id,
                   const absl::Status& outcome) {
  jobs::Job job;
  if (jobs::CheckJobId(job_id).ok()) job.id = job_id;
  permit.Record(audit::Action::kReplica, job, outcome, [&](audit::Event& event) {
    event.detail = absl::StrCat(what, event.detail.empty() ? "" : ": ", event.detail);
  });
  if (outcome.ok()) {
    spdlog::warn("event=replica_{} job={} by=\"{}\"", what, job_id, permit.caller());
  }
}

}  // namespace

ReplicaService::ReplicaService(const Guard& guard, replicas::ReplicaStore& store,
                               const v1::ServerConfig& config)
    : shared_{.guard = guard,
              .store = store,
              .origins = {config.cluster().replication().origin().begin(),
                          config.cluster().replication().origin().end()},
              .max_frame_bytes = config.limits().max_message_bytes() - kFrameOverheadBytes,
              .most_calls = MostReplicaCalls(config)} {
  Add(guard, {"ReportOrigin", Role::kConsole, kLongestReportBytes},
      &ReplicaService::OnReportOrigin);
  Add(guard, {"ListReplicas", Role::kViewer}, &ReplicaService::OnListReplicas);
  Add(guard, {"TakeReplica", Role::kOperator}, &ReplicaService::OnTakeReplica);
  Add(guard, {"DropReplica", Role::kAdministrator}, &ReplicaService::OnDropReplica);
}

void ReplicaService::Submit(std::function<void()> work) {
  auto token = std::make_shared<CallCounter::Token>(operators_);
  shared_.lane->Submit([work = std::move(work), token = std::move(token)] { work(); });
}

void ReplicaService::OnListReplicas(
    UnaryCall<v1::ListReplicasRequest, v1::ListReplicasResponse>& call) {
  Submit([this, &call] {
    v1::ListReplicasResponse& response = call.response();
    for (const replicas::ReplicaStore::Kept& kept : shared_.store.List()) {
      *response.add_replica() = ToProto(kept);
    }
    const replicas::ReplicaStore::Usage usage = shared_.store.usage();
    response.set_used_bytes(static_cast<uint64_t>(usage.bytes));
    response.set_capacity_bytes(static_cast<uint64_t>(usage.capacity_bytes));
    call.Answer(absl::OkStatus());
  });
}

void ReplicaService::OnTakeReplica(
    UnaryCall<v1::TakeReplicaRequest, v1::TakeReplicaResponse>& call) {
  const std::string& job_id = call.request().job_id();
  const absl::Status wanted = shared_.store.Want(job_id);
  RecordInTrail(call.permit(), "take", job_id, wanted);
  call.Answer(wanted);
}

void ReplicaService::OnDropReplica(
    UnaryCall<v1::DropReplicaRequest, v1::DropReplicaResponse>& call) {
  Submit([this, &call] {
    const std::string& job_id = call.request().job_id();
    const absl::Status dropped =
        call.request().force()
            ? shared_.store.Drop(job_id)
            : absl::FailedPreconditionError(
                  "the frames of a copy may be nowhere else; legal is a copy that is taken over "
                  "first, or force");
    RecordInTrail(call.permit(), "drop", job_id, dropped);
    call.Answer(dropped);
  });
}

void ReplicaService::OnReportOrigin(
    UnaryCall<v1::ReportOriginRequest, v1::ReportOriginResponse>& call) {
  const v1::ReportOriginRequest& request = call.request();
  if (const absl::Status known = CheckOriginOf(call.permit(), request.origin(), shared_.origins);
      !known.ok()) {
    return call.Answer(known);
  }
  if (request.job_id_size() > kMostJobs) {
    return call.Answer(absl::InvalidArgumentError(absl::StrCat(
        "job_id has ", request.job_id_size(), " entries; legal is at most ", kMostJobs)));
  }
  call.Answer(shared_.store.Report({request.origin().node(), request.origin().spool_id()},
                                   {request.job_id().begin(), request.job_id().end()}));
}

}  // namespace isocenter::rpc
