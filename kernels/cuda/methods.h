// The CUDA implementations of the operations (contracts: kernels/ops/operations.h,
// projector.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/projector.h"
#include "kernels/ops/variation.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterCufft(
    CudaDevice& device, const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterFused(
    CudaDevice& device, const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectHybrid(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelA(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectKernelB(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectNaive(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectRapid(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectStaged(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectTexture(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(CudaDevice& device);

/// Voxels are cut into `parts` along each axis: 1 for kVoxelDriven, 2 for kVoxelDrivenSplit.
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectVoxelDriven(CudaDevice& device,
                                                                           int parts);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectVoxelDriven(
    CudaDevice& device, int parts);

/// Which plane of voxels the threads of Du et al. (2017) are: perpendicular to z, y or x.
enum class DuPlane { kAxial, kCoronal, kSagittal };
/// `beyond` is for views whose central ray is more than `critical_angle` (radians, 0 to π/2) from
/// the y axis of the grid, `plane` for the others.
struct DuPlanes {
  DuPlane plane, beyond;
  double critical_angle;
};
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectDu(CudaDevice& device, int parts,
                                                                  const DuPlanes& planes);

absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(CudaDevice& device);

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSiddon(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJoseph(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectJosephRows(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectJoseph(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSeparableFootprint(
    CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSeparableFootprint(
    CudaDevice& device);

/// Starts a kernel that writes where there is no memory, for CudaDevice::Break.
absl::Status LaunchIllegalWrite(cudaStream_t stream);

/// Device memory that a back-projection takes beside its stack, at most: copies of up to 32 views
/// in layouts of its own.
int64_t BackprojectWorkspaceBytes(Shape3 stack);
/// Device memory that the default ramp filter takes beside its stacks, at most.
int64_t RampFilterWorkspaceBytes(int rows, int columns);

}  // namespace isocenter::cuda
