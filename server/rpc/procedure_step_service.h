// ProcedureStepService on what the information system is to be told.
#pragma once

#include "isocenter/v1/procedure_steps.grpc.pb.h"
#include "server/jobs/procedure_steps.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class ProcedureStepService : public SingleRequestService<v1::ProcedureStepService> {
 public:
  /// `steps`: null when nobody is told; both must outlive the service.
  ProcedureStepService(const Guard& guard, jobs::ProcedureStepControl* steps)
      : guard_(guard), steps_(steps) {
    Add(guard, "ListProcedureSteps", &ProcedureStepService::OnListProcedureSteps);
    Add(guard, "RetryProcedureStep", &ProcedureStepService::OnRetryProcedureStep);
    Add(guard, "DropProcedureStep", &ProcedureStepService::OnDropProcedureStep);
  }

 private:
  void OnListProcedureSteps(
      UnaryCall<v1::ListProcedureStepsRequest, v1::ListProcedureStepsResponse>& call);
  void OnRetryProcedureStep(UnaryCall<v1::RetryProcedureStepRequest, v1::ProcedureStep>& call);
  void OnDropProcedureStep(UnaryCall<v1::DropProcedureStepRequest, v1::ProcedureStep>& call);

  const Guard& guard_;
  jobs::ProcedureStepControl* const steps_;
};

}  // namespace isocenter::rpc
