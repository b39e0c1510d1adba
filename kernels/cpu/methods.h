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

using ForwardProjectOr = absl::StatusOr<std::unique_ptr<ops::ForwardProject>>;
using MatchedBackprojectOr = absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>>;
ForwardProjectOr NewProjectJoseph(ops::Device& device);
ForwardProjectOr NewProjectSiddon(ops::Device& device);
ForwardProjectOr NewProjectVoxelDriven(ops::Device& device);
ForwardProjectOr NewProjectVoxelDrivenSplit(ops::Device& device);
ForwardProjectOr NewProjectSeparableFootprint(ops::Device& device);
MatchedBackprojectOr NewMatchedBackprojectJoseph(ops::Device& device);
MatchedBackprojectOr NewMatchedBackprojectSiddon(ops::Device& device);
MatchedBackprojectOr NewMatchedBackprojectVoxelDriven(ops::Device& device);
MatchedBackprojectOr NewMatchedBackprojectVoxelDrivenSplit(ops::Device& device);
MatchedBackprojectOr NewMatchedBackprojectSeparableFootprint(ops::Device& device);

absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(ops::Device& device);
absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(ops::Device& device);

}  // namespace isocenter::cpu
