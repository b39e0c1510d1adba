// How requests come back from what is kept of them.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/jobs/frame_spool.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/refinement_request.h"

namespace isocenter::pipeline {

/// Those that a test does not need may be null.
struct RequestDecoders {
  /// AcquisitionRequest::record with what was chosen for it since.
  std::function<std::string(const std::string& record, const jobs::UsedCalibration& calibration)>
      add_calibration;
  /// Turns AcquisitionRequest::record back into the request. Errors: DATA_LOSS, INVALID_ARGUMENT.
  std::function<absl::StatusOr<AcquisitionRequest>(const std::string& record)> acquisition;
  /// The same for RefinementRequest::record.
  std::function<absl::StatusOr<RefinementRequest>(const std::string& record)> refinement;
};

/// The request whose frames a spool keeps. Errors: those of the decoder; DATA_LOSS (it is one of
/// another number of frames).
absl::StatusOr<AcquisitionRequest> DecodeSpooled(const RequestDecoders& decoders,
                                                 const jobs::JobSpool& spool);

}  // namespace isocenter::pipeline
