// ProcedureStepService on what the information system is to be told.
#pragma once

#include "isocenter/v1/procedure_steps.grpc.pb.h"
#include "server/jobs/procedure_steps.h"
#include "server/rpc/guard.h"

namespace isocenter::rpc {

class ProcedureStepService : public v1::ProcedureStepService::CallbackService {
 public:
  /// `steps`: null when nobody is told; both must outlive the service.
  ProcedureStepService(const Guard& guard, jobs::ProcedureStepControl* steps)
      : guard_(guard), steps_(steps) {}

  grpc::ServerUnaryReactor* ListProcedureSteps(grpc::CallbackServerContext* call,
                                               const v1::ListProcedureStepsRequest* request,
                                               v1::ListProcedureStepsResponse* response) override;
  grpc::ServerUnaryReactor* RetryProcedureStep(grpc::CallbackServerContext* call,
                                               const v1::RetryProcedureStepRequest* request,
                                               v1::ProcedureStep* response) override;
  grpc::ServerUnaryReactor* DropProcedureStep(grpc::CallbackServerContext* call,
                                              const v1::DropProcedureStepRequest* request,
                                              v1::ProcedureStep* response) override;

 private:
  const Guard& guard_;
  jobs::ProcedureStepControl* const steps_;
};

}  // namespace isocenter::rpc
