// An acquisition's header with what the file of --calibration says of its detector.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/acquisition.pb.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::cli {

/// Without a calibration where `calibration` is empty. What a set of raw counts does not fit ends
/// it, as at the service with a protocol that asks for a set
/// (server/pipeline/calibration_choice.h); but files need not tell what they are of: that, and a
/// set that is not valid now, become `warnings`. Errors: those of wire::AcquisitionFromProto,
/// wire::ReadCalibrationFile and wire::CalibrationFromProto; FAILED_PRECONDITION (a set of another
/// station, detector mode, detector or tube voltage).
absl::StatusOr<recon::Acquisition> CalibratedAcquisition(const v1::AcquisitionHeader& header,
                                                         const std::string& calibration,
                                                         std::vector<std::string>& warnings);

}  // namespace isocenter::cli
