#pragma once

#include "kernels/ops/registry.h"

namespace isocenter::gles {

/// Adds the graphics backend, which reconstructs fan beams. Where a machine has no EGL, opening its
/// device says so.
void Register(ops::Registry& registry);

}  // namespace isocenter::gles
