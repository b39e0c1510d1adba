#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {
namespace {

// Middles of `count` equal parts of [-1/2, 1/2].
std::vector<double> SubsampleOffsets(int count) {
  std::vector<double> offsets(std::max(1, count));
  const double n = static_cast<double>(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = (i + 0.5) / n - 0.5;
  return offsets;
}

Vec3 Transform(const std::array<double, 9>& m, double u, double v, double w) {
  return {m[0] * u + m[1] * v + m[2] * w, m[3] * u + m[4] * v + m[5] * w,
          m[6] * u + m[7] * v + m[8] * w};
}

}  // namespace

void ProjectView(const Phantom& phantom, const ProjectionMatrix& matrix, const Detector& detector,
                 int subsamples, ThreadPool& pool, HostView3<float> out) {
  assert((out.shape() == Shape3{1, detector.rows, detector.columns}));
  const std::array<double, 9> inverse = InverseLeft(matrix);
  const Vec3 source = -Transform(inverse, matrix(0, 3), matrix(1, 3), matrix(2, 3));
  const std::vector<double> offsets = SubsampleOffsets(subsamples);
  const double share = 1.0 / static_cast<double>(offsets.size() * offsets.size());
  pool.ParallelFor(detector.rows, [&](int64_t v, int) {
    float* row = out.row(0, v);
    for (int u = 0; u < detector.columns; ++u) {
      double sum = 0;
      for (double dv : offsets) {
        for (double du : offsets) {
          const Vec3 ray = Transform(inverse, u + du, static_cast<double>(v) + dv, 1);
          sum += phantom.LineIntegral(source, (1 / Norm(ray)) * ray);
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
