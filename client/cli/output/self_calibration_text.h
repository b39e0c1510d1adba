// What isocenter says of a detector that was not where a scan's matrices have it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kernels/recon/self_calibration/self_calibration.h"

namespace isocenter::cli {

/// One line: how far the detector was off, or that nothing was found.
std::string SelfCalibrationSummary(const recon::SelfCalibration& found);

/// "self_calibration" of docs/formats/json.md.
nlohmann::ordered_json SelfCalibrationJson(const recon::SelfCalibration& found);

}  // namespace isocenter::cli
