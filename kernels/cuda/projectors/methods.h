// The projectors and their adjoints (contracts: kernels/ops/projector.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/projector.h"

namespace isocenter::cuda {

/// Voxels are cut into `parts` along each axis: 1 for kVoxelDriven, 2 for kVoxelDrivenSplit.
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectVoxelDriven(CudaSession& session,
                                                                           int parts);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectVoxelDriven(
    CudaSession& session, int parts);

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSiddon(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJoseph(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJosephRows(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectJoseph(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSeparableFootprint(
    CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSeparableFootprint(
    CudaSession& session);

}  // namespace isocenter::cuda
