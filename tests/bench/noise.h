// Input for kernels whose speed does not depend on values.
#pragma once

#include <cstdint>
#include <vector>

namespace isocenter::bench {

/// Uniform in [-0.5, 0.5], the same every time.
std::vector<float> Noise(int64_t count);

}  // namespace isocenter::bench
