// What the execution of a refinement plan takes in memory: the sum of what its parts say that they
// take.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/plan.h"
#include "kernels/recon/memory.h"

namespace isocenter::recon {

/// Upper bound of the memory of one of the plan's devices, the warm start not included. Errors:
/// NOT_FOUND (a method that the backend lacks).
absl::StatusOr<MemoryParts> DevicePartsOf(const RefinementPlan& plan, int device,
                                          const ops::Registry& registry, const ops::Device& on);

/// Upper bound of the host memory, the warm start included.
MemoryParts HostPartsOf(const RefinementPlan& plan);

}  // namespace isocenter::recon
