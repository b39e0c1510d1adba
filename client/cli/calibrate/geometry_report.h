// What is told of a calibrated geometry.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/calibrate/geometry/geometry_fit.h"

namespace isocenter::cli {

/// "frames" or "arm".
const char* ModelName(calibrate::GeometryModel model);

/// Everything but the matrices.
nlohmann::ordered_json GeometryReport(const calibrate::GeometryFit& fit);

/// Which parameters of the arm follow from the sweep well, and which do not, one on each line.
std::vector<std::string> Observability(const calibrate::GeometryFit& fit);

}  // namespace isocenter::cli
