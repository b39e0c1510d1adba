#include "kernels/physics/glare.h"

#include <cmath>
#include <vector>

namespace isocenter::physics {
namespace {

// Σ g(k)·x[i + k] of `count` numbers that are `stride` apart, in place: what comes from the left
// and what comes from the right are each a recursion.
void Spread(double* x, int64_t count, int64_t stride, double a, std::vector<double>& from_left) {
  from_left.resize(count);
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) from_left[i] = sum = a * sum + x[i * stride];
  sum = 0;  // of those to the right of i
  for (int64_t i = count - 1; i >= 0; --i) {
    const double own = x[i * stride];
    x[i * stride] = (1 - a) / (1 + a) * (from_left[i] + sum);
    sum = a * (sum + own);
  }
}

}  // namespace

void AddGlare(double share, double length_mm, const Detector& detector, ThreadPool& pool,
              std::span<double> pixels) {
  if (share == 0) return;
  std::vector<double> spread(pixels.begin(), pixels.end());
  std::vector<std::vector<double>> scratch(pool.threads());
  pool.ParallelFor(detector.rows, [&](int64_t v, int worker) {
    Spread(&spread[v * detector.columns], detector.columns, 1,
           std::exp(-detector.pitch_u_mm / length_mm), scratch[worker]);
  });
  pool.ParallelFor(detector.columns, [&](int64_t u, int worker) {
    Spread(&spread[u], detector.rows, detector.columns, std::exp(-detector.pitch_v_mm / length_mm),
           scratch[worker]);
  });
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = (1 - share) * pixels[i] + share * spread[i];
  }
}

}  // namespace isocenter::physics
