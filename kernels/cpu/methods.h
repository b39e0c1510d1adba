// The methods of the cpu backend (contracts: kernels/ops).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/projector.h"
#include "kernels/ops/variation.h"

namespace isocenter::cpu {

/// Each keeps the device's threads alive. Errors: INVALID_ARGUMENT (a device of another backend, a
/// specification out of range).
absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilter(ops::Device& device,
                                                               const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectVoxelDriven(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewMatchedBackprojectVoxelDriven(
    ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectVoxelDrivenSplit(
    ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewMatchedBackprojectVoxelDrivenSplit(
    ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSeparableFootprint(
    ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewMatchedBackprojectSeparableFootprint(
    ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJoseph(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewMatchedBackprojectJoseph(
    ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewMatchedBackprojectSiddon(
    ops::Device& device);

}  // namespace isocenter::cpu
