#include "kernels/recon/motion/gradient_entropy.h"

#include <cmath>
#include <vector>

namespace isocenter::recon {
namespace {

struct Sums {
  double gradient = 0, with_log = 0;  // Σ g and Σ g·ln g
};

// Differences from the voxels of one slice to the next ones along x, y and z, and g.
struct Slice {
  explicit Slice(int64_t voxels) : x(voxels), y(voxels), z(voxels), g(voxels) {}
  std::vector<float> x, y, z, g;  // g: 0 where it does not count
};

class Field {
 public:
  Field(HostView3<const float> volume, std::span<const uint8_t> counted, double soft)
      : volume_(volume), counted_(counted), square_(static_cast<float>(soft * soft)) {}

  void Differences(int64_t k, Slice& slice) const {
    const Shape3& n = volume_.shape();
    const uint8_t* counted = counted_.data() + k * n.middle * n.fast;
    const bool last = k + 1 == n.slow;
    for (int64_t j = 0; j < n.middle; ++j) {
      float* const x = &slice.x[j * n.fast];
      float* const y = &slice.y[j * n.fast];
      float* const z = &slice.z[j * n.fast];
      float* const g = &slice.g[j * n.fast];
      if (last || j + 1 == n.middle) {
        for (int64_t i = 0; i < n.fast; ++i) x[i] = y[i] = z[i] = g[i] = 0;
        continue;
      }
      const float* const here = volume_.row(k, j);
      const float* const below = volume_.row(k, j + 1);
      const float* const above = volume_.row(k + 1, j);
      const uint8_t* const counts = counted + j * n.fast;
      for (int64_t i = 0; i + 1 < n.fast; ++i) {
        const float on = counts[i] != 0 ? 1.f : 0.f;
        x[i] = on * (here[i + 1] - here[i]);
        y[i] = on * (below[i] - here[i]);
        z[i] = on * (above[i] - here[i]);
        g[i] = on * std::sqrt(x[i] * x[i] + y[i] * y[i] + z[i] * z[i] + square_);
      }
      x[n.fast - 1] = y[n.fast - 1] = z[n.fast - 1] = g[n.fast - 1] = 0;
    }
  }

  // Differences divided by g and multiplied by dH/dg.
  void Scale(double per_gradient, double mean_log, Slice& slice) const {
    for (size_t i = 0; i < slice.g.size(); ++i) {
      const float g = slice.g[i];
      const auto scale =
          g > 0 ? static_cast<float>(-per_gradient * (std::log(g) - mean_log)) / g : 0.f;
      slice.x[i] *= scale;
      slice.y[i] *= scale;
      slice.z[i] *= scale;
    }
  }

 private:
  const HostView3<const float> volume_;
  const std::span<const uint8_t> counted_;
  const float square_;
};

}  // namespace

double GradientEntropy(HostView3<const float> volume, std::span<const uint8_t> counted, double soft,
                       ThreadPool& threads, HostView3<float> slopes) {
  const Shape3 n = volume.shape();
  const int64_t slice_voxels = n.middle * n.fast;
  const Field field(volume, counted, soft);
  std::vector<Sums> sums(n.slow);
  threads.ParallelFor(n.slow, [&](int64_t k, int) {
    Slice slice(slice_voxels);
    field.Differences(k, slice);
    for (const float g : slice.g) {
      if (g <= 0) continue;
      sums[k].gradient += g;
      sums[k].with_log += g * std::log(g);
    }
  });
  Sums all;
  for (const Sums& part : sums) {
    all.gradient += part.gradient;
    all.with_log += part.with_log;
  }
  if (!(all.gradient > 0)) {
    for (int64_t k = 0; k < n.slow; ++k) {
      std::fill_n(slopes.row(k, 0), slice_voxels, 0.f);
    }
    return 0;
  }
  const double mean_log = all.with_log / all.gradient;
  threads.ParallelFor(n.slow, [&](int64_t k, int) {
    Slice slice(slice_voxels), before(slice_voxels);
    field.Differences(k, slice);
    field.Scale(1 / all.gradient, mean_log, slice);
    if (k > 0) {
      field.Differences(k - 1, before);
      field.Scale(1 / all.gradient, mean_log, before);
    }
    float* const out = slopes.row(k, 0);
    for (int64_t j = 0; j < n.middle; ++j) {
      for (int64_t i = 0; i < n.fast; ++i) {
        const int64_t at = j * n.fast + i;
        float slope = before.z[at] - slice.x[at] - slice.y[at] - slice.z[at];
        if (i > 0) slope += slice.x[at - 1];
        if (j > 0) slope += slice.y[at - n.fast];
        out[at] = slope;
      }
    }
  });
  return std::log(all.gradient) - mean_log;
}

}  // namespace isocenter::recon
