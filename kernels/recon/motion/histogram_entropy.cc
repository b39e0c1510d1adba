#include "kernels/recon/motion/histogram_entropy.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace isocenter::recon {
namespace {

/// Where a value counts: in the bins middle - 1 to middle + 1.
struct Place {
  int middle = 0;
  float off = 0;  // from the middle bin's centre, in bins, -0.5 to 0.5
};

class Places {
 public:
  explicit Places(const HistogramBins& bins)
      : least_(static_cast<float>(bins.least)),
        per_width_(static_cast<float>(1 / bins.width)),
        most_(static_cast<float>(bins.count) - 1) {}

  /// Of nodes: the histogram has one more on both sides than bins.
  Place Of(float value) const {
    const float at = std::clamp((value - least_) * per_width_ - 0.5f, 0.f, most_);
    const float middle = std::floor(at + 0.5f);
    return {1 + static_cast<int>(middle), at - middle};
  }
  /// Whether the value is within, so that a change of it is one of its place.
  bool Holds(float value) const {
    const float at = (value - least_) * per_width_ - 0.5f;
    return at > 0 && at < most_;
  }

 private:
  const float least_, per_width_, most_;
};

}  // namespace

double HistogramEntropy(HostView3<const float> volume, std::span<const uint8_t> counted,
                        const HistogramBins& bins, ThreadPool& threads, HostView3<float> slopes) {
  const Shape3 n = volume.shape();
  const int64_t slice_voxels = n.middle * n.fast;
  const Places places(bins);
  std::vector<std::vector<double>> of_slices(n.slow);
  threads.ParallelFor(n.slow, [&](int64_t k, int) {
    std::vector<double>& histogram = of_slices[k];
    histogram.assign(size_t(bins.count) + 2, 0.0);
    const float* const values = volume.row(k, 0);
    const uint8_t* const counts = counted.data() + k * slice_voxels;
    for (int64_t i = 0; i < slice_voxels; ++i) {
      if (counts[i] == 0) continue;
      const Place place = places.Of(values[i]);
      const float d = place.off;
      histogram[place.middle - 1] += 0.5f * (0.5f - d) * (0.5f - d);
      histogram[place.middle] += 0.75f - d * d;
      histogram[place.middle + 1] += 0.5f * (0.5f + d) * (0.5f + d);
    }
  });
  std::vector<double> histogram(size_t(bins.count) + 2, 0.0);
  double voxels = 0;
  for (const std::vector<double>& part : of_slices) {
    for (size_t bin = 0; bin < part.size(); ++bin) histogram[bin] += part[bin];
  }
  for (const double in_bin : histogram) voxels += in_bin;
  double with_log = 0;
  std::vector<float> logs(histogram.size(), 0.f);
  for (size_t bin = 0; bin < histogram.size(); ++bin) {
    if (histogram[bin] <= 0) continue;
    const double log = std::log(histogram[bin]);
    logs[bin] = static_cast<float>(log);
    with_log += histogram[bin] * log;
  }
  // Of one voxel's value: what its three weights change by, times the logarithms of their bins.
  const auto scale = static_cast<float>(voxels > 0 ? -1 / (voxels * bins.width) : 0);
  threads.ParallelFor(n.slow, [&](int64_t k, int) {
    const float* const values = volume.row(k, 0);
    const uint8_t* const counts = counted.data() + k * slice_voxels;
    float* const out = slopes.row(k, 0);
    for (int64_t i = 0; i < slice_voxels; ++i) {
      if (counts[i] == 0 || !places.Holds(values[i])) {
        out[i] = 0;
        continue;
      }
      const Place place = places.Of(values[i]);
      const float d = place.off;
      out[i] = scale * ((d - 0.5f) * logs[place.middle - 1] - 2 * d * logs[place.middle] +
                        (d + 0.5f) * logs[place.middle + 1]);
    }
  });
  return voxels > 0 ? std::log(voxels) - with_log / voxels : 0;
}

}  // namespace isocenter::recon
