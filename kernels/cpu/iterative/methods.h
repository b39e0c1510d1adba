// What iterative methods do between their projections (contracts: kernels/ops/arithmetic.h,
// variation.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/variation.h"

namespace isocenter::cpu {

/// Each keeps the device's threads alive. Errors: INVALID_ARGUMENT (a device of another backend).
absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(ops::Device& device);

}  // namespace isocenter::cpu
