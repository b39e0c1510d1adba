#include "server/rpc/quality_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/rpc/translation/field_checks.h"

namespace isocenter::rpc {
namespace {

constexpr int kDefaultResults = 100, kMostResults = 1000;

void RecordInTrail(const Permit& permit, const char* what, const std::string& about,
                   const absl::Status& outcome) {
  permit.Record(audit::Action::kQuality, {}, outcome, [&](audit::Event& event) {
    event.detail =
        absl::StrCat(what, " ", Shown(about), event.detail.empty() ? "" : ": ", event.detail);
  });
}

/// A job's room and protocol are its own, whatever a caller takes them for.
absl::Status CheckJobs(absl::string_view field, const std::string& told, const std::string& job) {
  if (told.empty() || job.empty() || told == job) return absl::OkStatus();
  return Illegal(field, Shown(told), absl::StrCat("that of the job, ", Shown(job), ", or none"));
}

/// What a new baseline was before, for the trail.
std::string InPlaceOf(const v1::QualityResult& result) {
  if (result.replaced_id().empty()) return "";
  const auto failed = std::ranges::count_if(
      result.replaced_verdict(), [](const v1::QualityVerdict& each) { return !each.passed(); });
  return absl::StrCat(" in place of ", result.replaced_id(), ", by which ", failed, " of ",
                      result.replaced_verdict_size(), " figures are not passed");
}

absl::Status NothingKept() {
  return absl::FailedPreconditionError("this node keeps no results of image quality");
}

}  // namespace

QualityService::QualityService(const Guard& guard, jobs::JobTable& table,
                               const config::ProtocolBook& protocols, quality_records::Store* store)
    : table_(table), protocols_(protocols), store_(store) {
  Add(guard, {"RecordQuality", Role::kOperator}, &QualityService::OnRecordQuality);
  Add(guard, {"ListQuality", Role::kViewer}, &QualityService::OnListQuality);
  Add(guard, {"SetQualityBaseline", Role::kOperator}, &QualityService::OnSetQualityBaseline);
}

absl::StatusOr<v1::QualityResult> QualityService::ResultOf(
    v1::RecordQualityRequest& request) const {
  v1::QualityResult result;
  result.set_station_name(request.station_name());
  result.set_protocol(request.protocol());
  if (!request.job_id().empty()) {
    ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, table_.Get(request.job_id()));
    ISO_RETURN_IF_ERROR(CheckJobs("station_name", result.station_name(), job->station_name));
    ISO_RETURN_IF_ERROR(CheckJobs("protocol", result.protocol(), job->protocol));
    if (result.station_name().empty()) result.set_station_name(job->station_name);
    if (result.protocol().empty()) result.set_protocol(job->protocol);
    result.set_job_id(job->id);
  }
  ISO_RETURN_IF_ERROR(CheckIdentifier("station_name", result.station_name()));
  ISO_RETURN_IF_ERROR(CheckIdentifier("protocol", result.protocol()));
  ISO_RETURN_IF_ERROR(CheckIdentifier("phantom", request.phantom()));
  if (result.station_name().empty()) {
    return Illegal("station_name", "\"\"", "that of the room, or a job that has one");
  }
  if (result.protocol().empty()) {
    return Illegal("protocol", "\"\"", "that of the scan, or a job");
  }
  // A job's own may have left the configuration since; one that is named here is a scan of today.
  if (!request.protocol().empty()) {
    if (const auto known = protocols_.Find(request.protocol()); !known.ok()) {
      return absl::InvalidArgumentError(known.status().message());
    }
  }
  result.set_phantom(request.phantom());
  result.set_baseline(request.baseline());
  *result.mutable_measure() = std::move(*request.mutable_measure());
  if (request.has_conditions()) {
    *result.mutable_conditions() = std::move(*request.mutable_conditions());
  }
  return result;
}

void QualityService::OnRecordQuality(UnaryCall<v1::RecordQualityRequest, v1::QualityResult>& call) {
  if (store_ == nullptr) return call.Answer(NothingKept());
  auto token = std::make_shared<CallCounter::Token>(calls_);
  lane_->Submit([this, &call, token = std::move(token)] {
    absl::StatusOr<v1::QualityResult> result = ResultOf(call.request());
    std::string about = call.request().station_name();
    if (result.ok()) {
      about = absl::StrCat(result->station_name(), " ", result->protocol());
      result->set_recorded_by(call.permit().caller());
      if (result->baseline()) absl::StrAppend(&about, " as baseline");
      const v1::RecordQualityRequest& request = call.request();
      result = store_->Record(*std::move(result), request.has_replaces_id()
                                                      ? std::optional(request.replaces_id())
                                                      : std::nullopt);
      if (result.ok()) absl::StrAppend(&about, InPlaceOf(*result));
    }
    RecordInTrail(call.permit(), "record", about, result.status());
    if (result.ok()) {
      spdlog::info("event=quality_recorded id={} station={} protocol={} by=\"{}\"", result->id(),
                   result->station_name(), result->protocol(), call.permit().caller());
      call.response() = *std::move(result);
    }
    call.Answer(result.status());
  });
}

void QualityService::OnListQuality(
    UnaryCall<v1::ListQualityRequest, v1::ListQualityResponse>& call) {
  const v1::ListQualityRequest& request = call.request();
  if (request.max_results() < 0 || request.max_results() > kMostResults) {
    return call.Answer(Illegal("max_results", absl::StrCat(request.max_results()),
                               absl::StrCat("0 to ", kMostResults)));
  }
  if (store_ == nullptr) return call.Answer(absl::OkStatus());
  const size_t most = request.max_results() == 0 ? kDefaultResults : request.max_results();
  auto found = store_->List(request.station_name(), request.protocol(), most + 1);
  call.response().set_truncated(found.size() > most);
  if (found.size() > most) found.pop_back();
  for (v1::QualityResult& result : found) *call.response().add_result() = std::move(result);
  call.Answer(absl::OkStatus());
}

void QualityService::OnSetQualityBaseline(
    UnaryCall<v1::SetQualityBaselineRequest, v1::QualityResult>& call) {
  if (store_ == nullptr) return call.Answer(NothingKept());
  auto token = std::make_shared<CallCounter::Token>(calls_);
  lane_->Submit([this, &call, token = std::move(token)] {
    const std::string id = call.request().id();
    absl::StatusOr<v1::QualityResult> result = store_->SetBaseline(id);
    RecordInTrail(call.permit(), "baseline",
                  absl::StrCat(id, result.ok() ? InPlaceOf(*result) : ""), result.status());
    if (result.ok()) {
      spdlog::info("event=quality_baseline id={} replaced={} by=\"{}\"", id, result->replaced_id(),
                   call.permit().caller());
      call.response() = *std::move(result);
    }
    call.Answer(result.status());
  });
}

}  // namespace isocenter::rpc
