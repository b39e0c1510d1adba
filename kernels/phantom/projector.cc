#include <cassert>
#include <vector>

#include "kernels/phantom/phantom.h"
#include "kernels/phantom/pixel_rays.h"

namespace isocenter::phantom {

void ProjectView(const Phantom& phantom, const ProjectionMatrix& matrix, const Detector& detector,
                 int subsamples, ThreadPool& pool, HostView3<float> out) {
  assert((out.shape() == Shape3{1, detector.rows, detector.columns}));
  const PixelRays rays(matrix);
  const std::vector<double> offsets = SubsampleOffsets(subsamples);
  const double share = 1.0 / static_cast<double>(offsets.size() * offsets.size());
  pool.ParallelFor(detector.rows, [&](int64_t v, int) {
    float* row = out.row(0, v);
    for (int u = 0; u < detector.columns; ++u) {
      double sum = 0;
      for (double dv : offsets) {
        for (double du : offsets) {
          sum += phantom.LineIntegral(rays.source(),
                                      rays.Direction(u + du, static_cast<double>(v) + dv));
        }
      }
      row[u] = static_cast<float>(share * sum);
    }
  });
}

void Rasterize(const Phantom& phantom, const VolumeGrid& grid, double mu_water_per_mm,
               int subsamples, ThreadPool& pool, HostView3<float> out) {
  assert(out.shape() == grid.shape());
  const std::vector<double> offsets = SubsampleOffsets(subsamples);
  const double share = 1.0 / static_cast<double>(offsets.size() * offsets.size() * offsets.size());
  pool.ParallelFor(int64_t{grid.nz} * grid.ny, [&](int64_t line, int) {
    const int64_t k = line / grid.ny, j = line % grid.ny;
    float* row = out.row(k, j);
    for (int i = 0; i < grid.nx; ++i) {
      double sum = 0;
      for (double dk : offsets) {
        for (double dj : offsets) {
          for (double di : offsets) {
            sum += phantom.Attenuation(grid.VoxelToWorld(i + di, static_cast<double>(j) + dj,
                                                         static_cast<double>(k) + dk));
          }
        }
      }
      row[i] = static_cast<float>(1000 * (share * sum / mu_water_per_mm - 1));
    }
  });
}

}  // namespace isocenter::phantom
