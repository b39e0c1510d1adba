// Iterations that lead away from the frames, or not to them.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/recon/iterative/settings.h"

namespace isocenter::recon {

/// A sentence where the residual of a pass was larger than the least before it, by more than what a
/// prior takes where it has converged, or where the volume explains less than half of the frames
/// at the end, or else where a pass was not taken: `reports` are those of all passes so far. A
/// single pass has the residual of what it began with, which may be nothing, and is not judged.
/// What may be the cause is named by the fields of the settings that the algorithm has:
/// "iterative.relaxation".
std::optional<std::string> ResidualFinding(std::span<const IterationReport> reports,
                                           const IterativeSettings& settings);

}  // namespace isocenter::recon
