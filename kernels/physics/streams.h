// Random numbers of one seed for many purposes.
#pragma once

#include <cstdint>

#include "kernels/phantom/generator.h"

namespace isocenter::physics {

enum class Draw : uint64_t {
  kOffset = 1,
  kGain,
  kDefects,
  kDoses,
  kNoise,
  kScatter,
  kScatterCells
};

/// What the seeds of one purpose and frame begin with; odd multipliers keep them apart.
inline uint64_t FrameSeed(uint64_t seed, Draw draw, uint64_t frame) {
  return seed ^ static_cast<uint64_t>(draw) * 0xA0761D6478BD642Fu ^
         (frame + 1) * 0xE7037ED1A0B428DBu;
}

/// A generator of its own for every purpose, frame and row (or photon).
inline phantom::Generator GeneratorFor(uint64_t seed, Draw draw, uint64_t frame = 0,
                                       uint64_t row = 0) {
  return phantom::Generator(FrameSeed(seed, draw, frame) ^ (row + 1) * 0x8EBC6AF09C88C6E3u);
}

}  // namespace isocenter::physics
