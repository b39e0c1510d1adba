// What a second pass does to line integrals (contracts: kernels/ops/second_pass.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/second_pass.h"
#include "kernels/ops/session.h"

namespace isocenter::cpu {

absl::StatusOr<std::unique_ptr<ops::InterpolateTrace>> NewInterpolateTrace(ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    ops::Session& session, const ops::Calibration& calibration);

}  // namespace isocenter::cpu
