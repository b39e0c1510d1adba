// What iterative methods do between their projections (contracts: kernels/ops/arithmetic.h,
// variation.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/variation.h"
#include "kernels/ops/session.h"

namespace isocenter::cpu {

/// Each keeps the device's threads alive. Errors: INVALID_ARGUMENT (a session of another backend).
absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(ops::Session& session);

}  // namespace isocenter::cpu
