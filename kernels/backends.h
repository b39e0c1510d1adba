// All backends that this build has.
#pragma once

#include <string>

#include "kernels/ops/registry.h"

namespace isocenter {

/// The registry with every backend of this build: "reference" and "cpu".
const ops::Registry& Backends();

/// One sentence for the operator about CUDA: whether this build has it, which devices were found,
/// and that the work runs on the CPU. Never fails; asks the driver each time, so log it once at
/// start.
std::string CudaSummary();

}  // namespace isocenter
