// The methods of the cpu backend.
#pragma once

#include "kernels/ops/registry.h"

namespace isocenter::cpu {

/// Adds the backend's device and its methods; the first of each operation is the default.
void Register(ops::Registry& registry);

}  // namespace isocenter::cpu
