#include "kernels/physics/view.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

#include "kernels/phantom/pixel_rays.h"

namespace isocenter::physics {
namespace {

/// A point of the focal spot, with what it looks at.
struct Source {
  phantom::PixelRays rays;
  Camera camera;  // only with a bow-tie
};

std::vector<Source> SourcesOf(std::span<const ProjectionMatrix> poses, const BowTie* bow_tie) {
  std::vector<Source> sources;
  for (const ProjectionMatrix& pose : poses) {
    sources.push_back({phantom::PixelRays(pose), {}});
    if (bow_tie == nullptr) continue;
    const absl::StatusOr<Camera> camera = Decompose(pose);
    assert(camera.ok());
    sources.back().camera = *camera;
  }
  return sources;
}

}  // namespace

void ReadView(const TissueObject* object, const RowBeams& beams, const BowTie* bow_tie,
              std::span<const ProjectionMatrix> poses, const Detector& detector, int subsamples,
              ThreadPool& pool, std::span<Reading> readings) {
  assert(readings.size() == static_cast<size_t>(detector.rows) * detector.columns);
  assert(!poses.empty());
  const std::vector<Source> sources = SourcesOf(poses, bow_tie);
  const std::vector<double> offsets = phantom::SubsampleOffsets(subsamples);
  const double share = 1.0 / static_cast<double>(sources.size() * offsets.size() * offsets.size());
  const size_t materials = kTissueMaterials + (bow_tie == nullptr ? 0 : 1);
  pool.ParallelFor(detector.rows, [&](int64_t v, int) {
    const Beam& beam = beams.Of(v);
    std::array<double, kTissueMaterials + 1> mm{};
    const auto behind = [&](const Source& source, Vec3 direction) {
      if (object != nullptr) {
        std::ranges::copy(object->PathsMm(source.rays.source(), direction), mm.begin());
      }
      if (bow_tie != nullptr) mm.back() = bow_tie->BeyondMiddleMm(source.camera, direction);
      return beam.Behind({mm.data(), materials});
    };
    for (int u = 0; u < detector.columns; ++u) {
      Reading sum{0, 0};
      for (const Source& source : sources) {
        for (double dv : offsets) {
          for (double du : offsets) {
            const Reading reading =
                behind(source, source.rays.Direction(u + du, static_cast<double>(v) + dv));
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
