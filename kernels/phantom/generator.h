// Random numbers that are the same on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/base/units.h"

namespace isocenter::phantom {

/// xoshiro256++ (Blackman, Vigna 2018), seeded by SplitMix64. Integer arithmetic alone: the same
/// sequence everywhere, which the distributions of the standard library do not promise.
class Generator {
 public:
  explicit Generator(uint64_t seed) {
    for (uint64_t& word : state_) word = SplitMix(seed);
  }

  // [0, 1) in steps of 2^-53.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // Standard normal, Marsaglia's polar method (1964); its second value is kept for the next call.
  double Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x, y, square;
    do {
      x = 2 * Uniform() - 1;
      y = 2 * Uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    spare_ = y * factor;
    has_spare_ = true;
    return x * factor;
  }

  double Poisson(double mean) {
    if (!(mean > 0)) return 0;
    // Beyond 10^6 the normal distribution's skewness error is below 1/1000 of a standard deviation.
    if (mean > 1e6) return std::max(0.0, std::round(mean + std::sqrt(mean) * Normal()));
    return mean < 10 ? PoissonByInversion(mean) : PoissonByRejection(mean);
  }

 private:
  static uint64_t SplitMix(uint64_t& seed) {
    uint64_t z = (seed += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  static uint64_t Rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

  uint64_t Next() {
    const uint64_t result = Rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  double PoissonByInversion(double mean) {
    double probability = std::exp(-mean);
    double left = Uniform() - probability;
    int count = 0;
    // A mean below 10 never gets near 200; the bound ends the sum where rounding would not.
    while (left >= 0 && count < 200) {
      ++count;
      probability *= mean / count;
      left -= probability;
    }
    return count;
  }

  // Transformed rejection with squeeze, PTRS (Hörmann, Insurance: Math. and Econ. 12 (1993) 39).
  double PoissonByRejection(double mean) {
    const double log_mean = std::log(mean);
    const double b = 0.931 + 2.53 * std::sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double squeeze = 0.9277 - 3.6224 / (b - 2);
    while (true) {
      const double u = Uniform() - 0.5;
      const double v = Uniform();
      const double us = 0.5 - std::abs(u);
      const double count = std::floor((2 * a / us + b) * u + mean + 0.43);
      if (us >= 0.07 && v <= squeeze) return count;
      if (count < 0 || (us < 0.013 && v > us)) continue;
      if (std::log(v * inverse_alpha / (a / (us * us) + b)) <=
          count * log_mean - mean - LogFactorial(count)) {
        return count;
      }
    }
  }

  // log(n!), n >= 0. Not std::lgamma, which writes a global variable on some platforms.
  static double LogFactorial(double n) {
    if (n < 10) {
      double product = 1;
      for (int i = 2; i <= n; ++i) product *= i;
      return std::log(product);
    }
    // Stirling's series; its next term is below 1e-10 from n = 10.
    const double m = n + 1;
    return (m - 0.5) * std::log(m) - m + 0.5 * std::log(2 * kPi) + 1 / (12 * m) -
           1 / (360 * m * m * m) + 1 / (1260 * m * m * m * m * m);
  }

  uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace isocenter::phantom
