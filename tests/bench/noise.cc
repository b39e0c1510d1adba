#include "tests/bench/noise.h"

#include <random>

namespace isocenter::bench {

std::vector<float> Noise(int64_t count) {
  std::mt19937 random(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random()) * 0x1p-32f - 0.5f;
  return values;
}

}  // namespace isocenter::bench
