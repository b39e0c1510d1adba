// Which instruction set the kernels of this backend run with.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace isocenter::cpu {

/// "AVX-512", "AVX2", "SSE4" or "scalar": the best that this machine has, or the one that is
/// forced.
std::string SimdTargetName();

/// The instruction sets that this build and this machine have, best first.
std::vector<std::string> SimdTargets();

/// For tests and benchmarks: all kernels use `name` (one of SimdTargets) from now on; empty undoes
/// it. False when there is no such target. Not while kernels run.
bool ForceSimdTarget(absl::string_view name);

}  // namespace isocenter::cpu
