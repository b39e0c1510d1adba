// All backends that this build has.
#pragma once

#include "kernels/ops/registry.h"

namespace isocenter {

/// The registry with every backend of this build: "reference", "cpu", and "cuda" when it was
/// compiled.
const ops::Registry& Backends();

}  // namespace isocenter
