// The published forms, for programs that compare and measure: no program that ships links them.
#pragma once

#include "kernels/ops/registry.h"

namespace isocenter::cuda {

/// Adds them to a registry that has the cuda backend (kernels/cuda/register.h).
void RegisterPublished(ops::Registry& registry);

}  // namespace isocenter::cuda
