// The operations of filtered back-projection (contracts: kernels/ops/operations.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/operations.h"

namespace isocenter::cpu {

/// Each keeps the device's threads alive. Errors: INVALID_ARGUMENT (a device of another backend, a
/// specification out of range).
absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilter(ops::Device& device,
                                                               const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(ops::Device& device);

}  // namespace isocenter::cpu
