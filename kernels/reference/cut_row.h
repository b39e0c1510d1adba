// Rows that the detector cuts, as the ramp filter takes them.
#pragma once

#include <span>
#include <vector>

#include "kernels/ops/operations.h"

namespace isocenter::reference {

/// What of `pixels`, spec.columns of them, is convolved with ops::RampFilterKernel: the row with
/// ops::ExtensionLength pixels on both sides, or differentiated twice (ops::Truncation).
std::vector<double> PreparedRow(std::span<const double> pixels, const ops::RampFilterSpec& spec);

}  // namespace isocenter::reference
