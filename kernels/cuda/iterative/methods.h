// What iterative methods do between their projections (contracts: kernels/ops/arithmetic.h,
// variation.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/variation.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(CudaSession& session);

}  // namespace isocenter::cuda
