// What a second pass does to line integrals and volumes (contracts: kernels/ops/second_pass.h,
// rings.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/ops/rings.h"
#include "kernels/ops/second_pass.h"
#include "kernels/ops/session.h"

namespace isocenter::cpu {

absl::StatusOr<std::unique_ptr<ops::InterpolateTrace>> NewInterpolateTrace(ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    ops::Session& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::RemoveScatter>> NewRemoveScatter(
    ops::Session& session, const ops::Calibration& calibration);
absl::StatusOr<std::unique_ptr<ops::RemoveRings>> NewRemoveRings(ops::Session& session,
                                                                 const ops::RingSpec& spec);
int64_t RemoveRingsBytes(const ops::Device& device, const ops::Extents& extents,
                         const ops::RingSpec& spec);
absl::StatusOr<std::unique_ptr<ops::RemoveStripes>> NewRemoveStripes(ops::Session& session);
int64_t RemoveStripesBytes(const ops::Device& device, const ops::Extents& extents);

}  // namespace isocenter::cpu
