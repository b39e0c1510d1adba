#include "kernels/physics/view.h"

#include <cassert>
#include <vector>

#include "kernels/phantom/pixel_rays.h"

namespace isocenter::physics {

void ReadView(const TissueObject& object, const RowBeams& beams,
              std::span<const ProjectionMatrix> poses, const Detector& detector, int subsamples,
              ThreadPool& pool, std::span<Reading> readings) {
  assert(readings.size() == static_cast<size_t>(detector.rows) * detector.columns);
  assert(!poses.empty());
  const std::vector<phantom::PixelRays> sources(poses.begin(), poses.end());
  const std::vector<double> offsets = phantom::SubsampleOffsets(subsamples);
  const double share = 1.0 / static_cast<double>(sources.size() * offsets.size() * offsets.size());
  pool.ParallelFor(detector.rows, [&](int64_t v, int) {
    const Beam& beam = beams.Of(v);
    for (int u = 0; u < detector.columns; ++u) {
      Reading sum{0, 0};
      for (const phantom::PixelRays& rays : sources) {
        for (double dv : offsets) {
          for (double du : offsets) {
            const Vec3 direction = rays.Direction(u + du, static_cast<double>(v) + dv);
            const Reading reading = beam.Behind(object.PathsMm(rays.source(), direction));
            sum.signal += share * reading.signal;
            sum.variance += share * reading.variance;
          }
        }
      }
      readings[v * detector.columns + u] = sum;
    }
  });
}

}  // namespace isocenter::physics
