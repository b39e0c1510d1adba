// Random numbers that are the same on every platform, which the standard's distributions are not.
#pragma once

#include <random>

namespace isocenter {

/// [0, 1).
inline double Uniform(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11) * 0x1p-53;
}

}  // namespace isocenter
