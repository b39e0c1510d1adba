// Iterations that lead away from the frames.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/recon/iterative/settings.h"

namespace isocenter::recon {

/// A sentence where the residual has risen again, by more than what a prior takes where it has
/// converged: `reports` are those of all passes so far. What may do it is named by the fields of
/// the settings: "iterative.relaxation".
std::optional<std::string> RisingResidual(std::span<const IterationReport> reports,
                                          const IterativeSettings& settings);

}  // namespace isocenter::recon
