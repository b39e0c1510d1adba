// Siddon's projector and its adjoint in all forms that backends have: the comparison of Thompson &
// Lionheart, "GPU Accelerated Structure-Exploiting Matched Forward and Back Projection for
// Algebraic Iterative Cone Beam CT Reconstruction" (MIMS EPrint 2016.48, 2014), table I.
#pragma once

#include "absl/status/status.h"
#include "tests/bench/siddon/options.h"

namespace isocenter::bench {

/// Prints seconds with transfers, GUPS by exact count, speed-ups and differences; writes them with
/// --out. Errors: NOT_FOUND (no such backend or method), UNAVAILABLE (no such device; a file that
/// cannot be written), RESOURCE_EXHAUSTED (memory).
absl::Status RunSiddon(const SiddonOptions& options);

}  // namespace isocenter::bench
