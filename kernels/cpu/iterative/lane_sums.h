// Sums in float64, in an order that the number of threads and the machine's vectors do not change.
#pragma once

#include <span>

namespace isocenter::cpu {

inline constexpr int kSummands = 16;

/// Interleaved partial sums of one part of the terms (lane_sums-inl.h adds to them).
struct alignas(64) LaneSums {
  double lanes[kSummands] = {};
};

inline double Total(std::span<const LaneSums> parts) {
  double total = 0;
  for (const LaneSums& part : parts) {
    double sum = 0;
    for (const double lane : part.lanes) sum += lane;
    total += sum;
  }
  return total;
}

}  // namespace isocenter::cpu
