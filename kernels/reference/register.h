// The methods of the reference backend.
#pragma once

#include "kernels/ops/registry.h"

namespace isocenter::reference {

/// Adds the backend's device and its methods; the first of each operation is the default.
void Register(ops::Registry& registry);

}  // namespace isocenter::reference
