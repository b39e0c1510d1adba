// What the information system is still to be told of acquisitions.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/channel.h"
#include "isocenter/v1/procedure_steps.pb.h"

namespace isocenter::client {

/// Thread-safe. Errors are those that procedure_steps.proto states, and UNAVAILABLE.
class ProcedureStepClient {
 public:
  explicit ProcedureStepClient(const ServiceChannel& channel);
  ~ProcedureStepClient();

  absl::StatusOr<v1::ListProcedureStepsResponse> List(
      const v1::ListProcedureStepsRequest& request) const;
  absl::StatusOr<v1::ProcedureStep> Retry(const std::string& job_id) const;
  absl::StatusOr<v1::ProcedureStep> Drop(const std::string& job_id) const;

 private:
  struct Stub;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace isocenter::client
