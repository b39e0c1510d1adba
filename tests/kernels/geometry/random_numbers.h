// Reproducible random numbers for tests, the same on every platform.
#pragma once

#include <cstdint>
#include <random>

#include "kernels/geometry/vec3.h"

namespace isocenter {

class RandomNumbers {
 public:
  explicit RandomNumbers(uint64_t seed) : generator_(seed) {}
  double Uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_() >> 11) * 0x1p-53;
  }
  bool Coin() { return generator_() >> 63; }
  /// Components in [-extent, extent].
  Vec3 Vector(double extent) {
    const double x = Uniform(-extent, extent), y = Uniform(-extent, extent);
    return {x, y, Uniform(-extent, extent)};
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace isocenter
