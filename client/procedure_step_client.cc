#include "client/procedure_step_client.h"

#include <grpcpp/grpcpp.h>

#include "client/rpc_status.h"
#include "isocenter/v1/procedure_steps.grpc.pb.h"
#include "kernels/base/status_macros.h"

namespace isocenter::client {

struct ProcedureStepClient::Stub {
  std::unique_ptr<v1::ProcedureStepService::Stub> service;
};

ProcedureStepClient::ProcedureStepClient(const ServiceChannel& channel)
    : stub_(std::make_unique<Stub>(v1::ProcedureStepService::NewStub(channel.grpc_channel()))) {}
ProcedureStepClient::~ProcedureStepClient() = default;

absl::StatusOr<v1::ListProcedureStepsResponse> ProcedureStepClient::List(
    const v1::ListProcedureStepsRequest& request) const {
  v1::ListProcedureStepsResponse response;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->ListProcedureSteps(&context, request, &response);
  }));
  return response;
}

absl::StatusOr<v1::ProcedureStep> ProcedureStepClient::Retry(const std::string& job_id) const {
  v1::RetryProcedureStepRequest request;
  request.set_job_id(job_id);
  v1::ProcedureStep step;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->RetryProcedureStep(&context, request, &step);
  }));
  return step;
}

absl::StatusOr<v1::ProcedureStep> ProcedureStepClient::Drop(const std::string& job_id) const {
  v1::DropProcedureStepRequest request;
  request.set_job_id(job_id);
  v1::ProcedureStep step;
  ISO_RETURN_IF_ERROR(Call([&](grpc::ClientContext& context) {
    return stub_->service->DropProcedureStep(&context, request, &step);
  }));
  return step;
}

}  // namespace isocenter::client
