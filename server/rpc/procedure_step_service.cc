#include "server/rpc/procedure_step_service.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/node/job_audit.h"
#include "server/rpc/translation/field_checks.h"
#include "server/rpc/translation/translate.h"
#include "server/rpc/translation/wire_enum.h"

namespace isocenter::rpc {
namespace {

using jobs::ProcedureStepState;

constexpr int kDefaultResults = 100, kMostResults = 1000;

absl::Status NotConfigured() {
  return absl::FailedPreconditionError(
      "the server reports no procedure steps; dicom_node.mpps in its configuration says to whom");
}

absl::StatusOr<std::vector<ProcedureStepState>> StatesOf(
    const v1::ListProcedureStepsRequest& request) {
  std::vector<ProcedureStepState> states;
  for (const int number : request.state()) {
    const auto state = FromWire<v1::ProcedureStepState, ProcedureStepState>(number);
    if (!state)
      return Illegal("state", absl::StrCat(number), "a ProcedureStepState of this version");
    states.push_back(*state);
  }
  return states;
}

v1::ProcedureStep ToProto(const jobs::ProcedureStep& step) {
  v1::ProcedureStep proto;
  proto.set_job_id(step.job_id);
  proto.set_state(ToWire<v1::ProcedureStepState>(step.state));
  proto.set_rejections(static_cast<uint32_t>(step.rejections));
  proto.set_reason(step.reason);
  proto.set_sop_instance_uid(step.sop_instance_uid);
  if (step.begin_time) *proto.mutable_begin_time() = TimestampToProto(*step.begin_time);
  return proto;
}

absl::Status List(jobs::ProcedureStepControl& control, const v1::ListProcedureStepsRequest& request,
                  v1::ListProcedureStepsResponse& response) {
  if (request.max_results() < 0 || request.max_results() > kMostResults) {
    return Illegal("max_results", absl::StrCat(request.max_results()),
                   absl::StrCat("0 to ", kMostResults));
  }
  const int most = request.max_results() == 0 ? kDefaultResults : request.max_results();
  ISO_ASSIGN_OR_RETURN(const std::vector<ProcedureStepState> states, StatesOf(request));
  ISO_ASSIGN_OR_RETURN(std::vector<jobs::ProcedureStep> steps, control.List(states, most + 1));
  response.set_truncated(static_cast<int>(steps.size()) > most);
  if (response.truncated()) steps.pop_back();
  for (const jobs::ProcedureStep& step : steps) *response.add_step() = ToProto(step);
  return absl::OkStatus();
}

}  // namespace

void ProcedureStepService::Record(const Permit& permit, const std::string& job_id, const char* what,
                                  const absl::Status& outcome) const {
  permit.Record(audit::Action::kProcedureStep, *node::JobNamed(table_, job_id), outcome,
                [&](audit::Event& event) {
                  event.detail = absl::StrCat(what, event.detail.empty() ? "" : ": ", event.detail);
                });
}

void ProcedureStepService::OnListProcedureSteps(
    UnaryCall<v1::ListProcedureStepsRequest, v1::ListProcedureStepsResponse>& call) {
  call.Answer(steps_ == nullptr ? NotConfigured() : List(*steps_, call.request(), call.response()));
}

void ProcedureStepService::OnRetryProcedureStep(
    UnaryCall<v1::RetryProcedureStepRequest, v1::ProcedureStep>& call) {
  const Permit& permit = call.permit();
  if (steps_ == nullptr) return call.Answer(NotConfigured());
  const std::string& job_id = call.request().job_id();
  const absl::StatusOr<jobs::ProcedureStep> step = steps_->Retry(job_id);
  if (step.ok()) {
    call.response() = ToProto(*step);
    spdlog::info("event=procedure_step_retried job={} by=\"{}\"", job_id, permit.caller());
  }
  Record(permit, job_id, "retry", step.status());
  call.Answer(step.status());
}

void ProcedureStepService::OnDropProcedureStep(
    UnaryCall<v1::DropProcedureStepRequest, v1::ProcedureStep>& call) {
  const Permit& permit = call.permit();
  if (steps_ == nullptr) return call.Answer(NotConfigured());
  const std::string& job_id = call.request().job_id();
  const absl::StatusOr<jobs::ProcedureStep> step = steps_->Drop(job_id);
  if (step.ok()) {
    call.response() = ToProto(*step);
    spdlog::warn("event=procedure_step_dropped job={} by=\"{}\"", job_id, permit.caller());
  }
  Record(permit, job_id, "drop", step.status());
  call.Answer(step.status());
}

}  // namespace isocenter::rpc
