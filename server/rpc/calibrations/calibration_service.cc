#include "server/rpc/calibrations/calibration_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/calibrations/calibration_download.h"
#include "server/rpc/translation/field_checks.h"

namespace isocenter::rpc {
namespace {

constexpr int kDefaultResults = 100, kMostResults = 1000;

}  // namespace

CalibrationService::CalibrationService(const Guard& guard, calibrations::Store* store,
                                       pipeline::Engine& engine, absl::Duration idle_limit)
    : store_(store), context_{guard, store, engine, calls_, *lane_, idle_limit} {
  Add(guard, {"ListCalibrations", Role::kViewer}, &CalibrationService::OnListCalibrations);
  Add(guard, {"WithdrawCalibration", Role::kOperator}, &CalibrationService::OnWithdrawCalibration);
  AddCalls({"AddCalibration", Role::kOperator, CalibrationUpload::kLongestBytes},
           [this](grpc::CallbackServerContext& context, const Method& method) {
             return CalibrationUpload::New(context_, context, method);
           });
  AddCalls({"GetCalibration", Role::kConsole, kLongestRequestBytes, CallKind::kDownload},
           [this](grpc::CallbackServerContext& context, const Method& method) {
             return CalibrationDownload::New(context_, context, method);
           });
}

absl::Status CalibrationService::List(const v1::ListCalibrationsRequest& request,
                                      v1::ListCalibrationsResponse& response) const {
  if (request.max_results() < 0 || request.max_results() > kMostResults) {
    return Illegal("max_results", absl::StrCat(request.max_results()),
                   absl::StrCat("0 to ", kMostResults));
  }
  if (store_ == nullptr) return absl::OkStatus();
  const int most = request.max_results() == 0 ? kDefaultResults : request.max_results();
  auto found = store_->List(request.station_name(), request.withdrawn(), size_t(most) + 1);
  response.set_truncated(found.size() > size_t(most));
  if (response.truncated()) found.pop_back();
  for (v1::KeptCalibration& kept : found) *response.add_calibration() = std::move(kept);
  return absl::OkStatus();
}

void CalibrationService::OnListCalibrations(
    UnaryCall<v1::ListCalibrationsRequest, v1::ListCalibrationsResponse>& call) {
  call.Answer(List(call.request(), call.response()));
}

void CalibrationService::OnWithdrawCalibration(
    UnaryCall<v1::WithdrawCalibrationRequest, v1::KeptCalibration>& call) {
  if (store_ == nullptr) return call.Answer(absl::NotFoundError("this node keeps no calibrations"));
  // Of the calls that the server waits for.
  auto token = std::make_shared<CallCounter::Token>(calls_);
  lane_->Submit([this, &call, token = std::move(token)] {
    const std::string name = call.request().name();
    absl::StatusOr<v1::KeptCalibration> withdrawn = store_->Withdraw(name);
    RecordCalibration(call.permit(), "withdraw", name, withdrawn.status());
    if (withdrawn.ok()) call.response() = *std::move(withdrawn);
    call.Answer(withdrawn.status());
  });
}

}  // namespace isocenter::rpc
