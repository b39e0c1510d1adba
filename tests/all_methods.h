// Every method that there is to compare and to measure.
#pragma once

#include "kernels/ops/registry.h"

namespace isocenter {

/// Backends(), and the published forms (kernels/cuda/published) that no program ships.
const ops::Registry& AllMethods();

}  // namespace isocenter
