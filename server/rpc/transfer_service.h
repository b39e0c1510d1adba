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
#include "server/rpc/guard.h"

namespace isocenter::rpc {

v1::Transfer ToProto(const archive::Transfer& transfer);

/// What is on its way of a job; nothing where it is not known.
std::vector<v1::Transfer> TransfersOf(archive::TransferQueue& queue, const std::string& job_id);

class TransferService : public v1::TransferService::CallbackService {
 public:
  /// All but the clock must outlive the service. Without a queue nothing is ever sent.
  TransferService(const Guard& guard, jobs::JobTable& table, archive::TransferQueue* queue,
                  std::function<absl::Time()> clock)
      : guard_(guard), table_(table), queue_(queue), clock_(std::move(clock)) {}

  grpc::ServerUnaryReactor* ListTransfers(grpc::CallbackServerContext* call,
                                          const v1::ListTransfersRequest* request,
                                          v1::ListTransfersResponse* response) override;
  grpc::ServerUnaryReactor* SendJob(grpc::CallbackServerContext* call,
                                    const v1::SendJobRequest* request,
                                    v1::SendJobResponse* response) override;
  grpc::ServerUnaryReactor* RetryTransfers(grpc::CallbackServerContext* call,
                                           const v1::RetryTransfersRequest* request,
                                           v1::RetryTransfersResponse* response) override;

 private:
  absl::Status Send(const v1::SendJobRequest& request, const std::string& caller,
                    v1::SendJobResponse& response);

  const Guard& guard_;
  jobs::JobTable& table_;
  archive::TransferQueue* const queue_;
  const std::function<absl::Time()> clock_;
};

}  // namespace isocenter::rpc
