// WorklistService on the worklist.
#pragma once

#include "isocenter/v1/worklist.grpc.pb.h"
#include "server/jobs/worklist.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/guard.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::rpc {

class WorklistService : public v1::WorklistService::CallbackService {
 public:
  /// `worklist`: null when none is configured. Both must outlive the service.
  WorklistService(const Guard& guard, jobs::Worklist* worklist)
      : guard_(guard), worklist_(worklist) {}

  grpc::ServerUnaryReactor* ListScheduledSteps(grpc::CallbackServerContext* call,
                                               const v1::ListScheduledStepsRequest* request,
                                               v1::ListScheduledStepsResponse* response) override;
  /// Those that wait for the worklist.
  const CallCounter& calls() const { return calls_; }
  /// Ends them.
  void Interrupt();

 private:
  const Guard& guard_;
  jobs::Worklist* const worklist_;
  CallCounter calls_;
  // Last: gRPC's own threads must not wait for a network of others.
  scheduler::LaneExecutor executor_{"iso-list-steps"};
};

}  // namespace isocenter::rpc
