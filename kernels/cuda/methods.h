// The CUDA implementations of the operations (contracts: kernels/ops/operations.h,
// projector.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/variation.h"
#include "kernels/ops/projector.h"

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
absl::StatusOr<std::unique_ptr<ops::Arithmetic>> NewArithmetic(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::Variation>> NewVariation(CudaDevice& device);

absl::StatusOr<std::unique_ptr<ops::ForwardProject>> NewProjectSiddon(CudaDevice& device);
absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectSiddon(CudaDevice& device);

/// Starts a kernel that writes where there is no memory, for CudaDevice::Break.
absl::Status LaunchIllegalWrite(cudaStream_t stream);

/// Device memory that a back-projection takes beside its stack, at most: copies of up to 32 views
/// in layouts of its own.
int64_t BackprojectWorkspaceBytes(Shape3 stack);
/// Device memory that the default ramp filter takes beside its stacks, at most.
int64_t RampFilterWorkspaceBytes(int rows, int columns);

}  // namespace isocenter::cuda
