// JobService on the job table, the pipeline and the result store.
#pragma once

#include "isocenter/v1/jobs.grpc.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/config/protocol_book.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/engine.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/download_stream.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class JobService : public SingleRequestService<v1::JobService> {
 public:
  /// All must outlive the service. `transfers` may be null: nothing is ever sent. Who fetches a
  /// result and takes nothing of it for `idle_limit` is left.
  JobService(const Guard& guard, jobs::JobTable& table, pipeline::Engine& engine,
             jobs::ResultStore& results, const config::ProtocolBook& protocols,
             archive::TransferQueue* transfers, absl::Duration idle_limit);

  /// Those that are not answered at once.
  const CallCounter& calls() const { return calls_; }

 private:
  void OnListJobs(UnaryCall<v1::ListJobsRequest, v1::ListJobsResponse>& call);
  void OnGetJob(UnaryCall<v1::GetJobRequest, v1::Job>& call);
  void OnCancelJob(UnaryCall<v1::CancelJobRequest, v1::Job>& call);
  void OnRefineJob(UnaryCall<v1::RefineJobRequest, v1::Job>& call);
  void OnGetJobTrace(UnaryCall<v1::GetJobTraceRequest, v1::JobTrace>& call);
  void OnDeleteJob(UnaryCall<v1::DeleteJobRequest, v1::DeleteJobResponse>& call);

  absl::StatusOr<jobs::JobSnapshot> Cancel(const v1::CancelJobRequest& request,
                                           const Permit& permit);
  absl::Status Delete(const v1::DeleteJobRequest& request);

  jobs::JobTable& table_;
  pipeline::Engine& engine_;
  const config::ProtocolBook& protocols_;
  archive::TransferQueue* const transfers_;
  CallCounter calls_;
  const DownloadContext downloads_;
};

}  // namespace isocenter::rpc
