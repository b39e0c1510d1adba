// The projectors and their adjoints (contracts: kernels/ops/projector.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/projector.h"

namespace isocenter::cpu {

/// Each keeps the device's threads alive. Errors: INVALID_ARGUMENT (a device of another backend).
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

}  // namespace isocenter::cpu
