// Input for kernels whose speed does not depend on values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace isocenter::bench {

/// Uniform in [-0.5, 0.5], the same every time.
std::vector<float> Noise(int64_t count);
/// Raw detector counts around half of the range, the same every time for the same seed.
void FillWithCounts(std::span<uint16_t> counts, uint32_t seed = 1);

}  // namespace isocenter::bench
