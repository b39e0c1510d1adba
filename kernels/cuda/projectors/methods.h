// The projectors and their adjoints (contracts: kernels/ops/projector.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/device.h"
#include "kernels/ops/projector.h"

namespace isocenter::cuda {

/// Voxels are cut into `parts` along each axis: 1 for kVoxelDriven, 2 for kVoxelDrivenSplit.
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectVoxelDriven(CudaDevice& device,
                                                                           int parts);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectVoxelDriven(
    CudaDevice& device, int parts);

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSiddon(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJoseph(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJosephRows(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectJoseph(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSeparableFootprint(
    CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSeparableFootprint(
    CudaDevice& device);

}  // namespace isocenter::cuda
