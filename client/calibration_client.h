// Calibrations that the server keeps.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/channel.h"
#include "isocenter/v1/calibration_service.pb.h"

namespace isocenter::client {

/// Thread-safe. Errors are those that calibration_service.proto states, and UNAVAILABLE.
class CalibrationClient {
 public:
  explicit CalibrationClient(const ServiceChannel& channel);
  ~CalibrationClient();

  absl::StatusOr<v1::ListCalibrationsResponse> List(
      const v1::ListCalibrationsRequest& request) const;
  /// `file`: the bytes of a set's file (proto/wire/calibration_file.h). Repeating it is safe.
  absl::StatusOr<v1::KeptCalibration> Add(const std::string& name, absl::string_view file) const;
  /// `write` gets the file piece by piece, and may fail.
  absl::StatusOr<v1::KeptCalibration> Get(
      const std::string& name, const std::function<absl::Status(absl::string_view)>& write) const;
  absl::StatusOr<v1::KeptCalibration> Withdraw(const std::string& name) const;

 private:
  struct Stub;
  std::unique_ptr<Stub> stub_;
};

}  // namespace isocenter::client
