#include "server/rpc/replicas/replica_service.h"

#include "absl/strings/str_cat.h"

namespace isocenter::rpc {
namespace {

constexpr int kMostJobs = 10000;
constexpr int64_t kLongestReportBytes = 1 << 20;

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
