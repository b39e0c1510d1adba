// The operations of filtered back-projection (contracts: kernels/ops/operations.h).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/ops/operations.h"
#include "kernels/ops/registry.h"

namespace isocenter::cpu {

/// Each keeps the device's threads alive. Errors: INVALID_ARGUMENT (a session of another backend, a
/// specification out of range).
absl::StatusOr<std::unique_ptr<ops::Preprocess>> NewPreprocess(ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::RampFilter>> NewRampFilter(ops::Session& session,
                                                               const ops::RampFilterSpec& spec);
absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::MatrixGradient>> NewMatrixGradient(ops::Session& session);
absl::StatusOr<std::unique_ptr<ops::ToHounsfield>> NewToHounsfield(ops::Session& session);

/// Device memory that two of them take for themselves; the others take nothing.
int64_t RampFilterBytes(const ops::Device& device, const ops::Extents& extents,
                        const ops::RampFilterSpec& spec);
int64_t BackprojectVoxelBytes(const ops::Device& device, const ops::Extents& extents);

}  // namespace isocenter::cpu
