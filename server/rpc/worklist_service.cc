#include "server/rpc/worklist_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "server/base/try_again.h"
#include "server/jobs/private_error.h"
#include "server/rpc/translation/field_checks.h"
#include "server/rpc/translation/status_translation.h"

namespace isocenter::rpc {
namespace {

constexpr int kDefaultResults = 100, kMostResults = 1000;
// That wait at once, each for seconds at worst.
constexpr int kMostCalls = 8;
constexpr absl::Duration kLongestAnswer = absl::Seconds(30);

absl::Status CheckDateRange(const std::string& range) {
  const std::vector<std::string> ends = absl::StrSplit(range, '-');
  if (ends.size() > 2 || range == "-") {
    return Illegal("date", Shown(range), "YYYYMMDD or YYYYMMDD-YYYYMMDD with one end or both");
  }
  for (const std::string& end : ends) ISO_RETURN_IF_ERROR(CheckDate("date", end));
  return absl::OkStatus();
}

absl::StatusOr<jobs::WorklistQuery> QueryOf(const v1::ListScheduledStepsRequest& request) {
  ISO_RETURN_IF_ERROR(
      jobs::MarkPrivate(CheckText("accession_number", request.accession_number(), 16)));
  ISO_RETURN_IF_ERROR(jobs::MarkPrivate(CheckText("patient_id", request.patient_id(), 64)));
  ISO_RETURN_IF_ERROR(CheckText("station_ae_title", request.station_ae_title(), 16));
  ISO_RETURN_IF_ERROR(CheckDateRange(request.date()));
  if (request.max_results() < 0 || request.max_results() > kMostResults) {
    return Illegal("max_results", absl::StrCat(request.max_results()),
                   absl::StrCat("0 to ", kMostResults));
  }
  return jobs::WorklistQuery{
      .accession_number = request.accession_number(),
      .patient_id = request.patient_id(),
      .station_ae_title = request.station_ae_title(),
      .date = request.date(),
      .limit = request.max_results() == 0 ? kDefaultResults : request.max_results()};
}

/// As the audit trail names them.
std::vector<std::string> KeysOf(const jobs::WorklistQuery& query) {
  std::vector<std::string> keys = {"worklist"};
  const auto add = [&keys](const char* name, const std::string& value) {
    if (!value.empty()) keys.push_back(absl::StrCat(name, "=", value));
  };
  add("accession_number", query.accession_number);
  add("patient_id", query.patient_id);
  add("station_ae_title", query.station_ae_title);
  add("date", query.date);
  return keys;
}

v1::ScheduledStep ToProto(const jobs::ScheduledStep& step) {
  v1::ScheduledStep proto;
  const jobs::PatientStudy& from = step.patient_study;
  v1::PatientStudy& identity = *proto.mutable_patient_study();
  identity.set_patient_name(from.patient_name);
  identity.set_patient_id(from.patient_id);
  identity.set_patient_birth_date(from.patient_birth_date);
  identity.set_patient_sex(from.patient_sex);
  identity.set_study_instance_uid(from.study_instance_uid);
  identity.set_accession_number(from.accession_number);
  identity.set_study_description(step.requested_procedure_description);
  identity.set_referring_physician_name(from.referring_physician_name);
  proto.set_requested_procedure_id(step.requested_procedure_id);
  proto.set_requested_procedure_description(step.requested_procedure_description);
  proto.set_scheduled_step_id(step.step_id);
  proto.set_scheduled_step_description(step.step_description);
  proto.set_station_ae_title(step.station_ae_title);
  proto.set_modality(step.modality);
  proto.set_start_date(step.start_date);
  proto.set_start_time(step.start_time);
  proto.set_performing_physician_name(step.performing_physician_name);
  return proto;
}

absl::Status List(jobs::Worklist& worklist, const jobs::WorklistQuery& query, absl::Time deadline,
                  v1::ListScheduledStepsResponse& response) {
  if (absl::Now() >= deadline) {
    return absl::DeadlineExceededError("the worklist was busy with other questions");
  }
  absl::StatusOr<jobs::WorklistAnswer> found = worklist.Find(query, deadline);
  if (absl::IsUnavailable(found.status())) {
    // This server is available, and another would ask the same worklist.
    return absl::FailedPreconditionError(
        absl::StrCat("the worklist does not answer: ", found.status().message()));
  }
  ISO_ASSIGN_OR_RETURN(jobs::WorklistAnswer answer, std::move(found));
  std::ranges::stable_sort(answer.steps, [](const auto& a, const auto& b) {
    return std::pair(a.start_date, a.start_time) < std::pair(b.start_date, b.start_time);
  });
  for (const jobs::ScheduledStep& step : answer.steps) *response.add_step() = ToProto(step);
  response.set_truncated(answer.truncated);
  return absl::OkStatus();
}

}  // namespace

void WorklistService::OnListScheduledSteps(
    UnaryCall<v1::ListScheduledStepsRequest, v1::ListScheduledStepsResponse>& call) {
  const Permit& permit = call.permit();
  if (worklist_ == nullptr) {
    return call.Answer(absl::FailedPreconditionError(
        "the server has no worklist; dicom_node.worklist in its configuration names one"));
  }
  const absl::StatusOr<jobs::WorklistQuery> query = QueryOf(call.request());
  if (!query.ok()) return call.Answer(query.status());
  auto token = std::make_shared<const CallCounter::Token>(calls_);
  if (token->number() > kMostCalls) {
    return call.Answer(
        FullForNow(absl::StrCat(kMostCalls,
                                " questions wait for the worklist already; try again in a "
                                "second")));
  }
  const absl::Time deadline =
      std::min(absl::FromChrono(call.context().deadline()), absl::Now() + kLongestAnswer);
  executor_.NewLane()->Submit(
      [this, &call, query = *query, deadline, permit, token = std::move(token)] {
        const absl::Status listed = List(*worklist_, query, deadline, call.response());
        permit.Record(audit::Action::kQuery, jobs::Job(), listed, [&](audit::Event& event) {
          event.query = KeysOf(query);
          event.matches = call.response().step_size();
        });
        call.Answer(listed);
      });
}

void WorklistService::Interrupt() {
  if (worklist_ != nullptr) worklist_->Interrupt();
}

}  // namespace isocenter::rpc
