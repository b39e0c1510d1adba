// What a second pass does to line integrals and volumes (contracts: kernels/ops/second_pass.h,
// rings.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/session.h"
#include "kernels/ops/registry.h"
#include "kernels/ops/rings.h"
#include "kernels/ops/second_pass.h"

namespace isocenter::cuda {

absl::StatusOr<std::unique_ptr<ops::InterpolateTrace>> NewInterpolateTrace(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    CudaSession& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::RemoveScatter>> NewRemoveScatter(
    CudaSession& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::RemoveRings>> NewRemoveRings(CudaSession& session,
                                                                 const ops::RingSpec& spec);
absl::StatusOr<std::unique_ptr<ops::RemoveStripes>> NewRemoveStripes(CudaSession& session);
absl::StatusOr<std::unique_ptr<ops::ConeBeamArtefact>> NewConeBeamArtefact(
    CudaSession& session, const ops::ConeBeamSpec& spec);

/// Device memory that they take for themselves (ops::Factory::WorkspaceBytes).
int64_t InterpolateTraceBytes(const ops::Extents& extents);
int64_t CorrectBoneBytes(const ops::Extents& extents, const ops::Calibration& calibration);
int64_t RemoveRingsBytes(const ops::Extents& extents, const ops::RingSpec& spec);
int64_t RemoveStripesBytes(const ops::Extents& extents);
/// `extents.grid`: the model's.
int64_t ConeBeamArtefactBytes(const ops::Extents& extents, const ops::ConeBeamSpec& spec);

}  // namespace isocenter::cuda
