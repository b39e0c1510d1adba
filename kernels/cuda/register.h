// The methods of the CUDA backend.
#pragma once

#include "kernels/ops/registry.h"

namespace isocenter::cuda {

/// Adds the backend's device and its methods; the first of each operation is the default.
void Register(ops::Registry& registry);

}  // namespace isocenter::cuda
