// The reference implementations of the operations (contracts: kernels/ops/operations.h,
// arithmetic.h, variation.h; for projectors see system_matrix.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/variation.h"

namespace isocenter::reference {

std::unique_ptr<ops::Preprocess> NewPreprocess();
/// Errors: INVALID_ARGUMENT (a specification out of range).
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilter(const ops::RampFilterSpec& spec);
std::unique_ptr<ops::Backproject> NewBackprojectVoxel();
std::unique_ptr<ops::ToHounsfield> NewToHounsfield();
std::unique_ptr<ops::Arithmetic> NewArithmetic();
std::unique_ptr<ops::Variation> NewVariation();

}  // namespace isocenter::reference
