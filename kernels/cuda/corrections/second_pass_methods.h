// What a second pass does to line integrals (contracts: kernels/ops/second_pass.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/registry.h"
#include "kernels/ops/second_pass.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::InterpolateTrace>> NewInterpolateTrace(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    CudaSession& session, const ops::Calibration& calibration);

/// Device memory that they take for themselves (ops::Factory::WorkspaceBytes).
int64_t InterpolateTraceBytes(const ops::Extents& extents);
int64_t CorrectBoneBytes(const ops::Extents& extents, const ops::Calibration& calibration);

}  // namespace isocenter::cuda
