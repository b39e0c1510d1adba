// The operations of filtered back-projection (contracts: kernels/ops/operations.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/operations.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterCufft(
    CudaSession& session, const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterFused(
    CudaSession& session, const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectHybrid(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectStaged(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(CudaSession& session);

/// Device memory that a back-projection takes beside its stack, at most: copies of up to 32 views
/// in layouts of its own.
int64_t BackprojectWorkspaceBytes(Shape3 stack);
/// Device memory that the default ramp filter takes beside its stacks, at most.
int64_t RampFilterWorkspaceBytes(int rows, int columns);

}  // namespace isocenter::cuda
