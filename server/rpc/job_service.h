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

namespace isocenter::rpc {

class JobService : public v1::JobService::CallbackService {
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

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* call,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* call,
                                   const v1::GetJobRequest* request, v1::Job* response) override;
  grpc::ServerWriteReactor<v1::Job>* WatchJob(grpc::CallbackServerContext* call,
                                              const v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* call,
                                      const v1::CancelJobRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* RefineJob(grpc::CallbackServerContext* call,
                                      const v1::RefineJobRequest* request,
                                      v1::Job* response) override;
  grpc::ServerUnaryReactor* GetJobTrace(grpc::CallbackServerContext* call,
                                        const v1::GetJobTraceRequest* request,
                                        v1::JobTrace* response) override;
  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext* call,
                                      const v1::DeleteJobRequest* request,
                                      v1::DeleteJobResponse* response) override;
  grpc::ServerWriteReactor<v1::DownloadResultResponse>* DownloadResult(
      grpc::CallbackServerContext* call, const v1::DownloadResultRequest* request) override;

 private:
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
