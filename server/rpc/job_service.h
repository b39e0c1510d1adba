// JobService on the job table, the pipeline and the result store.
#pragma once

#include "isocenter/v1/jobs.grpc.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/config/protocol_book.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/pipeline/engine.h"
#include "server/rpc/call_audit.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class JobService : public WithMethods<v1::JobService::Service,
                                      v1::JobService::WithRawCallbackMethod_DownloadResult,
                                      v1::JobService::WithRawCallbackMethod_WatchJob,
                                      v1::JobService::WithRawCallbackMethod_ListJobs,
                                      v1::JobService::WithRawCallbackMethod_GetJob,
                                      v1::JobService::WithRawCallbackMethod_CancelJob,
                                      v1::JobService::WithRawCallbackMethod_RefineJob,
                                      v1::JobService::WithRawCallbackMethod_GetJobTrace,
                                      v1::JobService::WithRawCallbackMethod_DeleteJob> {
 public:
  /// All must outlive the service. `transfers` may be null: nothing is ever sent.
  JobService(const Guard& guard, jobs::JobTable& table, pipeline::Engine& engine,
             jobs::ResultStore& results, const config::ProtocolBook& protocols, CallAudit audit,
             archive::TransferQueue* transfers)
      : guard_(guard),
        table_(table),
        engine_(engine),
        results_(results),
        protocols_(protocols),
        audit_(audit),
        transfers_(transfers) {}

  /// Those that are not answered at once.
  const CallCounter& calls() const { return calls_; }

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* call, const grpc::ByteBuffer* in,
                                     grpc::ByteBuffer* out) override {
    return Serve(*this, &JobService::OnListJobs, call, in, out);
  }
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* call, const grpc::ByteBuffer* in,
                                   grpc::ByteBuffer* out) override {
    return Serve(*this, &JobService::OnGetJob, call, in, out);
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchJob(grpc::CallbackServerContext* call,
                                                       const grpc::ByteBuffer* in) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* call, const grpc::ByteBuffer* in,
                                      grpc::ByteBuffer* out) override {
    return Serve(*this, &JobService::OnCancelJob, call, in, out);
  }
  grpc::ServerUnaryReactor* RefineJob(grpc::CallbackServerContext* call, const grpc::ByteBuffer* in,
                                      grpc::ByteBuffer* out) override {
    return Serve(*this, &JobService::OnRefineJob, call, in, out);
  }
  grpc::ServerUnaryReactor* GetJobTrace(grpc::CallbackServerContext* call,
                                        const grpc::ByteBuffer* in,
                                        grpc::ByteBuffer* out) override {
    return Serve(*this, &JobService::OnGetJobTrace, call, in, out);
  }
  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext* call, const grpc::ByteBuffer* in,
                                      grpc::ByteBuffer* out) override {
    return Serve(*this, &JobService::OnDeleteJob, call, in, out);
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* DownloadResult(grpc::CallbackServerContext* call,
                                                             const grpc::ByteBuffer* in) override;

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

  const Guard& guard_;
  jobs::JobTable& table_;
  pipeline::Engine& engine_;
  jobs::ResultStore& results_;
  const config::ProtocolBook& protocols_;
  const CallAudit audit_;
  archive::TransferQueue* const transfers_;
  CallCounter calls_;
};

}  // namespace isocenter::rpc
