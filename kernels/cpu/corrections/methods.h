// From counts to line integrals (contracts: kernels/ops/corrections.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/corrections.h"
#include "kernels/ops/registry.h"

namespace isocenter::cpu {

absl::StatusOr<std::unique_ptr<ops::NormalizeCounts>> NewNormalizeCounts(
    ops::Session& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::RecoverOverexposed>> NewRecoverOverexposed(
    ops::Session& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::InterpolateDefects>> NewInterpolateDefects(
    ops::Session& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::CorrectLag>> NewCorrectLag(ops::Session& session,
                                                               const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::CorrectAirSweep>> NewCorrectAirSweep(
    ops::Session& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::FindDoses>> NewFindDoses(ops::Session& session,
                                                             const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::CorrectGlare>> NewCorrectGlare(
    ops::Session& session, const ops::Calibration& calibration);
/// Errors: INVALID_ARGUMENT (a calibration without kernels of scatter).
absl::StatusOr<std::unique_ptr<ops::CorrectScatter>> NewCorrectScatter(
    ops::Session& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::Linearize>> NewLinearize(ops::Session& session,
                                                             const ops::Calibration& calibration);

/// Memory that they take for themselves (ops::Factory::WorkspaceBytes); what is not here takes
/// next to nothing.
int64_t NormalizeCountsBytes(const ops::Device& device, const ops::Extents& extents,
                             const ops::Calibration& calibration);
int64_t RecoverOverexposedBytes(const ops::Device& device, const ops::Extents& extents,
                                const ops::Calibration& calibration);
int64_t CorrectAirSweepBytes(const ops::Device& device, const ops::Extents& extents,
                             const ops::Calibration& calibration);
int64_t CorrectLagBytes(const ops::Device& device, const ops::Extents& extents,
                        const ops::Calibration& calibration);
int64_t CorrectGlareBytes(const ops::Device& device, const ops::Extents& extents,
                          const ops::Calibration& calibration);
int64_t CorrectScatterBytes(const ops::Device& device, const ops::Extents& extents,
                            const ops::Calibration& calibration);
int64_t LinearizeBytes(const ops::Device& device, const ops::Extents& extents,
                       const ops::Calibration& calibration);

}  // namespace isocenter::cpu
