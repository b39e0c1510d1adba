// ProcedureStepService on what the information system is to be told.
#pragma once

#include "isocenter/v1/procedure_steps.grpc.pb.h"
#include "server/jobs/job_table.h"
#include "server/jobs/procedure_steps.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class ProcedureStepService : public SingleRequestService<v1::ProcedureStepService> {
 public:
  /// `steps`: null when nobody is told; all must outlive the service.
  ProcedureStepService(const Guard& guard, const jobs::JobTable& table,
                       jobs::ProcedureStepControl* steps)
      : table_(table), steps_(steps) {
    Add(guard, {"ListProcedureSteps", Role::kViewer}, &ProcedureStepService::OnListProcedureSteps);
    Add(guard, {"RetryProcedureStep", Role::kOperator},
        &ProcedureStepService::OnRetryProcedureStep);
    Add(guard, {"DropProcedureStep", Role::kOperator}, &ProcedureStepService::OnDropProcedureStep);
  }

 private:
  void OnListProcedureSteps(
      UnaryCall<v1::ListProcedureStepsRequest, v1::ListProcedureStepsResponse>& call);
  void OnRetryProcedureStep(UnaryCall<v1::RetryProcedureStepRequest, v1::ProcedureStep>& call);
  void OnDropProcedureStep(UnaryCall<v1::DropProcedureStepRequest, v1::ProcedureStep>& call);

  void Record(const Permit& permit, const std::string& job_id, const char* what,
              const absl::Status& outcome) const;

  const jobs::JobTable& table_;  // whose scan a step is
  jobs::ProcedureStepControl* const steps_;
};

}  // namespace isocenter::rpc
