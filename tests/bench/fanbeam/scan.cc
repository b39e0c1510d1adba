#include "tests/bench/fanbeam/scan.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/units.h"
#include "kernels/phantom/fan_beam.h"
#include "kernels/phantom/generator.h"

namespace isocenter::bench {

FanBeamGeometry PaperGeometry(int views, double spacing) {
  constexpr int kChannels = 736;
  constexpr double kOffset = 0.25;
  const int channels = static_cast<int>(std::ceil(kChannels / spacing));
  return {.detector = FanBeamGeometry::Detector::kArc,
          .source_to_axis_mm = 595,
          .channels = channels,
          .channel_angle = spacing * DegreesToRadians(0.0679),
          .central_channel = 0.5 * (channels - 1) + kOffset,
          .views = views,
          .arc = 2 * kPi};
}

VolumeGrid PaperGrid(int size) {
  const double pixel = kFanBeamImageMm / size;
  return CenteredGrid(size, size, 1, {pixel, pixel, pixel});
}

std::vector<float> CleanScan(const FanBeamGeometry& geometry, ThreadPool& pool) {
  constexpr int kRays = 5;
  std::vector<float> lines(static_cast<size_t>(geometry.views) * geometry.channels);
  phantom::ProjectFanBeam(*phantom::MakeRodPhantom(kFanBeamWater), geometry, 0, kRays, pool,
                          {lines.data(), {geometry.views, 1, geometry.channels}});
  return lines;
}

std::vector<float> NoisyScan(const std::vector<float>& clean, const FanBeamGeometry& geometry,
                             double photons, uint64_t seed, ThreadPool& pool) {
  std::vector<float> noisy(clean.size());
  pool.ParallelFor(geometry.views, [&](int64_t view, int) {
    phantom::Generator generator(seed * 0x9E3779B97F4A7C15u ^
                                 (static_cast<uint64_t>(view) + 1) * 0xD1B54A32D192ED03u);
    for (int64_t i = view * geometry.channels; i < (view + 1) * geometry.channels; ++i) {
      const double counts = generator.Poisson(photons * std::exp(-double{clean[i]}));
      noisy[i] = static_cast<float>(-std::log(std::max(counts, 0.5) / photons));
    }
  });
  return noisy;
}

}  // namespace isocenter::bench
