// WorklistService on the worklist.
#pragma once

#include "isocenter/v1/worklist.grpc.pb.h"
#include "server/jobs/worklist.h"
#include "server/rpc/call_counter.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"
#include "server/scheduler/lane_executor.h"

namespace isocenter::rpc {

class WorklistService : public SingleRequestService<v1::WorklistService> {
 public:
  /// `worklist`: null when none is configured. Both must outlive the service.
  WorklistService(const Guard& guard, jobs::Worklist* worklist) : worklist_(worklist) {
    Add(guard, {"ListScheduledSteps", Role::kConsole}, &WorklistService::OnListScheduledSteps);
  }

  /// Those that wait for the worklist.
  const CallCounter& calls() const { return calls_; }
  /// Ends them.
  void Interrupt();

 private:
  void OnListScheduledSteps(
      UnaryCall<v1::ListScheduledStepsRequest, v1::ListScheduledStepsResponse>& call);

  jobs::Worklist* const worklist_;
  CallCounter calls_;
  // Last: gRPC's own threads must not wait for a network of others.
  scheduler::LaneExecutor executor_{"iso-list-steps"};
};

}  // namespace isocenter::rpc
