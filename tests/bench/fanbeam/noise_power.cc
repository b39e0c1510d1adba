#include "tests/bench/fanbeam/noise_power.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "kernels/base/units.h"
#include "tests/bench/fanbeam/scan.h"

namespace isocenter::bench {
namespace {

constexpr int kN = kRegionPixels;

// The frequency of an index of the transform, in 1/32 per pixel.
int Signed(int k) { return k <= kN / 2 ? k : k - kN; }

// Of rows to rows of transposed frequencies: twice gives both axes.
std::vector<std::complex<double>> TransformRows(const std::vector<std::complex<double>>& values) {
  std::vector<std::complex<double>> out(values.size());
  for (int row = 0; row < kN; ++row) {
    for (int k = 0; k < kN; ++k) {
      std::complex<double> sum = 0;
      for (int x = 0; x < kN; ++x) {
        sum += values[row * kN + x] * std::polar(1.0, -2 * kPi * (k * x % kN) / kN);
      }
      out[k * kN + row] = sum;
    }
  }
  return out;
}

}  // namespace

std::vector<double> RegionOf(std::span<const float> image, int size, int region) {
  const double pixels_per_mm = size / kFanBeamImageMm;
  const auto corner = [&](double mm) {
    return static_cast<int>(std::lround(size / 2.0 + mm * pixels_per_mm)) - kN / 2;
  };
  const int i0 = corner(kRegionPlaces[region].x), j0 = corner(kRegionPlaces[region].y);
  std::vector<double> pixels;
  for (int j = j0; j < j0 + kN; ++j) {
    const auto row = image.subspan(static_cast<size_t>(j) * size + i0, kN);
    pixels.insert(pixels.end(), row.begin(), row.end());
  }
  return pixels;
}

double RegionVariance(std::span<const double> pixels) {
  const double mean =
      std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
  double sum = 0;
  for (const double pixel : pixels) sum += (pixel - mean) * (pixel - mean);
  return sum / static_cast<double>(pixels.size());
}

std::vector<double> NoisePower(std::span<const double> pixels) {
  const double mean = std::accumulate(pixels.begin(), pixels.end(), 0.0) / kRegionValues;
  std::vector<std::complex<double>> values;
  for (const double pixel : pixels) values.emplace_back(pixel - mean);
  values = TransformRows(TransformRows(values));
  std::vector<double> power;
  for (const auto& value : values) power.push_back(std::norm(value) / kRegionValues);
  return power;
}

std::vector<double> RadialNoisePower(std::span<const double> power) {
  std::vector<double> sum(kN / 2 + 1), count(kN / 2 + 1);
  for (int l = 0; l < kN; ++l) {
    for (int k = 0; k < kN; ++k) {
      const auto ring = static_cast<size_t>(std::lround(std::hypot(Signed(k), Signed(l))));
      if (ring >= sum.size()) continue;
      sum[ring] += power[l * kN + k];
      ++count[ring];
    }
  }
  for (size_t ring = 0; ring < sum.size(); ++ring) sum[ring] /= count[ring];
  return sum;
}

double HighestFrequency(std::span<const double> radial) {
  const double limit = 0.1 * *std::max_element(radial.begin(), radial.end());
  size_t last = radial.size() - 1;
  while (last > 0 && radial[last] < limit) --last;
  if (last + 1 == radial.size()) return static_cast<double>(last);
  return static_cast<double>(last) + (radial[last] - limit) / (radial[last] - radial[last + 1]);
}

}  // namespace isocenter::bench
