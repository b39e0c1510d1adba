// From counts to line integrals (contracts: kernels/ops/corrections.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/corrections.h"
#include "kernels/ops/registry.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::NormalizeCounts>> NewNormalizeCounts(
    CudaSession& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::RecoverOverexposed>> NewRecoverOverexposed(
    CudaSession& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::InterpolateDefects>> NewInterpolateDefects(
    CudaSession& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::CorrectLag>> NewCorrectLag(CudaSession& session,
                                                               const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::CorrectAirSweep>> NewCorrectAirSweep(
    CudaSession& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::FindDoses>> NewFindDoses(CudaSession& session,
                                                             const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::CorrectGlare>> NewCorrectGlare(
    CudaSession& session, const ops::Calibration& calibration);
/// Errors: INVALID_ARGUMENT (a calibration without kernels of scatter).
absl::StatusOr<std::unique_ptr<ops::CorrectScatter>> NewCorrectScatter(
    CudaSession& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::Linearize>> NewLinearize(CudaSession& session,
                                                             const ops::Calibration& calibration);

/// Device memory that they take for themselves (ops::Factory::WorkspaceBytes); what is not here
/// takes nothing.
int64_t NormalizeCountsBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t RecoverOverexposedBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t CorrectAirSweepBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t InterpolateDefectsBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t CorrectLagBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t FindDosesBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t CorrectGlareBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t CorrectScatterBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t LinearizeBytes(const ops::Extents& extents, const ops::Calibration& calibration);

}  // namespace isocenter::cuda
