// The published forms, for programs that compare and measure: no program that ships links them.
#pragma once

#include "kernels/ops/registry.h"

namespace isocenter::cpu {

/// Adds them to a registry that has the cpu backend (kernels/cpu/register.h).
void RegisterPublished(ops::Registry& registry);

}  // namespace isocenter::cpu
