// TransferService on the archive's queues.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "isocenter/v1/transfers.grpc.pb.h"
#include "server/archive/transfer_queue.h"
#include "server/jobs/job_table.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

v1::Transfer ToProto(const archive::Transfer& transfer);

/// What is on its way of a job; nothing where it is not known.
std::vector<v1::Transfer> TransfersOf(archive::TransferQueue& queue, const std::string& job_id);

class TransferService : public SingleRequestService<v1::TransferService> {
 public:
  /// All but the clock must outlive the service. Without a queue nothing is ever sent.
  TransferService(const Guard& guard, jobs::JobTable& table, archive::TransferQueue* queue,
                  std::function<absl::Time()> clock)
      : table_(table), queue_(queue), clock_(std::move(clock)) {
    Add(guard, {"ListTransfers", Role::kViewer}, &TransferService::OnListTransfers);
    Add(guard, {"SendJob", Role::kOperator}, &TransferService::OnSendJob);
    Add(guard, {"SendJobs", Role::kOperator}, &TransferService::OnSendJobs);
    Add(guard, {"RetryTransfers", Role::kOperator}, &TransferService::OnRetryTransfers);
  }

 private:
  void OnListTransfers(UnaryCall<v1::ListTransfersRequest, v1::ListTransfersResponse>& call);
  void OnSendJob(UnaryCall<v1::SendJobRequest, v1::SendJobResponse>& call);
  void OnSendJobs(UnaryCall<v1::SendJobsRequest, v1::SendJobsResponse>& call);
  void OnRetryTransfers(UnaryCall<v1::RetryTransfersRequest, v1::RetryTransfersResponse>& call);

  /// The configured destination that is meant. Errors: NOT_FOUND.
  absl::StatusOr<std::string> DestinationOf(const std::string& named) const;
  absl::Status Send(const v1::SendJobRequest& request, const std::string& caller,
                    v1::SendJobResponse& response);

  jobs::JobTable& table_;
  archive::TransferQueue* const queue_;
  const std::function<absl::Time()> clock_;
};

}  // namespace isocenter::rpc
