// The projectors and their adjoints (contracts: kernels/ops/projector.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/projector.h"
#include "kernels/ops/registry.h"

namespace isocenter::cpu {

/// Each keeps the device's threads alive. Errors: INVALID_ARGUMENT (a session of another backend).
using ForwardProjectOr = absl::StatusOr<std::unique_ptr<ops::ForwardProject>>;
using MatchedBackprojectOr = absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>>;
using RowSumsOr = absl::StatusOr<std::unique_ptr<ops::RowSums>>;
ForwardProjectOr NewProjectJoseph(ops::Session& session);
ForwardProjectOr NewProjectSiddon(ops::Session& session);
ForwardProjectOr NewProjectVoxelDriven(ops::Session& session);
ForwardProjectOr NewProjectVoxelDrivenSplit(ops::Session& session);
ForwardProjectOr NewProjectSeparableFootprint(ops::Session& session);
MatchedBackprojectOr NewMatchedBackprojectJoseph(ops::Session& session);
MatchedBackprojectOr NewMatchedBackprojectSiddon(ops::Session& session);
MatchedBackprojectOr NewMatchedBackprojectVoxelDriven(ops::Session& session);
MatchedBackprojectOr NewMatchedBackprojectVoxelDrivenSplit(ops::Session& session);
MatchedBackprojectOr NewMatchedBackprojectSeparableFootprint(ops::Session& session);
RowSumsOr NewRowSumsJoseph(ops::Session& session);
RowSumsOr NewRowSumsSiddon(ops::Session& session);

/// Device memory that the three forward projectors by footprints take for themselves; the others
/// take nothing.
int64_t FootprintForwardBytes(const ops::Device& device, const ops::Extents& extents);

}  // namespace isocenter::cpu
