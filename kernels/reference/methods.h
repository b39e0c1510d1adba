// The reference implementations of the operations (contracts: kernels/ops/operations.h,
// corrections.h, arithmetic.h, variation.h; for projectors see system_matrix.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/arithmetic.h"
#include "kernels/ops/corrections.h"
#include "kernels/ops/matrix_gradient.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/rings.h"
#include "kernels/ops/second_pass.h"
#include "kernels/ops/variation.h"

namespace isocenter::reference {

std::unique_ptr<ops::NormalizeCounts> NewNormalizeCounts(const ops::Calibration& calibration);
std::unique_ptr<ops::RecoverOverexposed> NewRecoverOverexposed(const ops::Calibration& calibration);
std::unique_ptr<ops::CorrectAirSweep> NewCorrectAirSweep(const ops::Calibration& calibration);
std::unique_ptr<ops::InterpolateDefects> NewInterpolateDefects(const ops::Calibration& calibration);
std::unique_ptr<ops::CorrectLag> NewCorrectLag(const ops::Calibration& calibration);
std::unique_ptr<ops::Linearize> NewLinearize(const ops::Calibration& calibration);
std::unique_ptr<ops::Preprocess> NewPreprocess();
/// Errors: INVALID_ARGUMENT (a specification out of range).
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilter(const ops::RampFilterSpec& spec);
std::unique_ptr<ops::Backproject> NewBackprojectVoxel();
std::unique_ptr<ops::MatrixGradient> NewMatrixGradient();
std::unique_ptr<ops::ToHounsfield> NewToHounsfield();
std::unique_ptr<ops::Arithmetic> NewArithmetic();
std::unique_ptr<ops::Variation> NewVariation();
std::unique_ptr<ops::FindDoses> NewFindDoses(const ops::Calibration& calibration);
std::unique_ptr<ops::CorrectGlare> NewCorrectGlare(const ops::Calibration& calibration);
/// Errors: INVALID_ARGUMENT (a calibration without kernels).
absl::StatusOr<std::unique_ptr<ops::CorrectScatter>> NewCorrectScatter(
    const ops::Calibration& calibration);
std::unique_ptr<ops::InterpolateTrace> NewInterpolateTrace();
/// Errors: INVALID_ARGUMENT (a calibration without a bone table).
absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    const ops::Calibration& calibration);
std::unique_ptr<ops::RemoveScatter> NewRemoveScatter(const ops::Calibration& calibration);
/// Errors: INVALID_ARGUMENT (ops::CheckRings).
absl::StatusOr<std::unique_ptr<ops::RemoveRings>> NewRemoveRings(const ops::RingSpec& spec);
std::unique_ptr<ops::RemoveStripes> NewRemoveStripes();
std::unique_ptr<ops::ConeBeamArtefact> NewConeBeamArtefact(const ops::ConeBeamSpec& spec);

}  // namespace isocenter::reference
