// The operations of filtered back-projection (contracts: kernels/ops/operations.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/registry.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterCufft(
    CudaSession& session, const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterHalves(
    CudaSession& session, const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilterFused(
    CudaSession& session, const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectHybrid(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectStaged(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(CudaSession& session);

/// Device memory that they take for themselves (ops::Factory::WorkspaceBytes); what is not here
/// takes nothing.
int64_t PreprocessBytes(const ops::Extents& extents);
int64_t RampFilterCufftBytes(const ops::Extents& extents, const ops::RampFilterSpec& spec);
int64_t RampFilterHalvesBytes(const ops::Extents& extents, const ops::RampFilterSpec& spec);
int64_t RampFilterFusedBytes(const ops::Extents& extents, const ops::RampFilterSpec& spec);
int64_t BackprojectHybridBytes(const ops::Extents& extents);
int64_t BackprojectStagedBytes(const ops::Extents& extents);

}  // namespace isocenter::cuda
