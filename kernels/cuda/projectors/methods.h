// The projectors and their adjoints (contracts: kernels/ops/projector.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/projector.h"
#include "kernels/ops/registry.h"

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

/// Device memory that they take for themselves (ops::Factory::WorkspaceBytes).
int64_t ProjectVoxelDrivenBytes(int parts, const ops::Extents& extents);
int64_t BackprojectVoxelDrivenBytes(int parts, const ops::Extents& extents);
int64_t ProjectSiddonBytes(const ops::Extents& extents);
int64_t BackprojectSiddonBytes(const ops::Extents& extents);
int64_t ProjectJosephBytes(const ops::Extents& extents);
int64_t ProjectJosephRowsBytes(const ops::Extents& extents);
int64_t BackprojectJosephBytes(const ops::Extents& extents);
int64_t ProjectSeparableFootprintBytes(const ops::Extents& extents);
int64_t BackprojectSeparableFootprintBytes(const ops::Extents& extents);

}  // namespace isocenter::cuda
