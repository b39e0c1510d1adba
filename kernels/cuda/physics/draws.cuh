// xoshiro256++ (Blackman, Vigna 2018), seeded by SplitMix64: the sequence of phantom::Generator.
#pragma once

#include <cstdint>

namespace isocenter::cuda {

class Draws {
 public:
  __device__ explicit Draws(uint64_t seed) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint64_t z = (seed += 0x9E3779B97F4A7C15u);
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      state_[i] = z ^ (z >> 31);
    }
  }

  // [0, 1) in steps of 2^-53.
  __device__ double Uniform() {
    const uint64_t result = Rotate(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return static_cast<double>(result >> 11) * 0x1p-53;
  }

 private:
  __device__ static uint64_t Rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t state_[4];
};

}  // namespace isocenter::cuda
