// CalibrationService on the sets that the node keeps.
#pragma once

#include <memory>

#include "isocenter/v1/calibration_service.grpc.pb.h"
#include "server/rpc/calibrations/calibration_upload.h"
#include "server/rpc/unary_call.h"

namespace isocenter::rpc {

class CalibrationService : public SingleRequestService<v1::CalibrationService> {
 public:
  /// `store`: null where none are kept; all must outlive the service. Who sends or takes nothing
  /// for `idle_limit` is left.
  CalibrationService(const Guard& guard, calibrations::Store* store, pipeline::Engine& engine,
                     absl::Duration idle_limit);

  /// Those that are not answered at once.
  const CallCounter& calls() const { return calls_; }

 private:
  void OnListCalibrations(
      UnaryCall<v1::ListCalibrationsRequest, v1::ListCalibrationsResponse>& call);
  void OnWithdrawCalibration(UnaryCall<v1::WithdrawCalibrationRequest, v1::KeptCalibration>& call);

  absl::Status List(const v1::ListCalibrationsRequest& request,
                    v1::ListCalibrationsResponse& response) const;

  calibrations::Store* const store_;
  CallCounter calls_;
  scheduler::LaneExecutor disk_{"iso-calibration"};
  const std::shared_ptr<scheduler::LaneExecutor::Lane> lane_ = disk_.NewLane();
  const CalibrationContext context_;
};

}  // namespace isocenter::rpc
