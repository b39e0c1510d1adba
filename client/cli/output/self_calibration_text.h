// What isocenter says of a detector that was not where a scan's matrices have it.
#pragma once

#include <nlohmann/json.hpp>

#include "isocenter/v1/jobs.pb.h"
#include "kernels/recon/self_calibration/self_calibration.h"

namespace isocenter::cli {

/// "self_calibration" of docs/formats/json.md.
nlohmann::ordered_json SelfCalibrationJson(const recon::SelfCalibration& found);
/// As the service tells it.
nlohmann::ordered_json SelfCalibrationJson(const v1::SelfCalibration& found);

}  // namespace isocenter::cli
