#include "kernels/recon/second_pass/pixel_bins.h"

#include <algorithm>

namespace isocenter::recon {
namespace {

constexpr int kMostBin = 16;

}  // namespace

PixelBins BinsFor(const Acquisition& acquisition, double voxel_mm) {
  const Detector& detector = acquisition.detector;
  // w is 1 at the isocentre: a column is there as wide as a unit of u.
  const auto& m = acquisition.trajectory.front().m;
  const double columns_per_mm =
      Norm(Vec3{m[0], m[1], m[2]} - (m[3] / m[11]) * Vec3{m[8], m[9], m[10]});
  const int widest = std::min({kMostBin, detector.columns, detector.rows});
  const int bin = std::clamp(static_cast<int>(voxel_mm * columns_per_mm), 1, widest);
  return {
      .bin = bin, .first_column = detector.columns % bin / 2, .first_row = detector.rows % bin / 2};
}

ProjectionMatrix Binned(const ProjectionMatrix& matrix, const PixelBins& bins) {
  const double shift_u = bins.first_column + (bins.bin - 1) / 2.0;
  const double shift_v = bins.first_row + (bins.bin - 1) / 2.0;
  ProjectionMatrix binned = matrix;
  for (int i = 0; i < 4; ++i) {
    binned.m[i] = (matrix.m[i] - shift_u * matrix.m[8 + i]) / bins.bin;
    binned.m[4 + i] = (matrix.m[4 + i] - shift_v * matrix.m[8 + i]) / bins.bin;
  }
  return binned;
}

Acquisition Binned(const Acquisition& acquisition, const PixelBins& bins) {
  Acquisition binned = AsLineIntegrals(acquisition);
  binned.detector = {.columns = acquisition.detector.columns / bins.bin,
                     .rows = acquisition.detector.rows / bins.bin,
                     .pitch_u_mm = acquisition.detector.pitch_u_mm * bins.bin,
                     .pitch_v_mm = acquisition.detector.pitch_v_mm * bins.bin};
  for (ProjectionMatrix& matrix : binned.trajectory) matrix = Binned(matrix, bins);
  return binned;
}

void BinFrame(const PixelBins& bins, const Detector& binned, HostView3<const float> frame,
              std::span<float> means) {
  for (int v = 0; v < binned.rows; ++v) {
    for (int u = 0; u < binned.columns; ++u) {
      double sum = 0;
      for (int j = 0; j < bins.bin; ++j) {
        for (int i = 0; i < bins.bin; ++i) {
          sum += frame(0, bins.first_row + v * bins.bin + j, bins.first_column + u * bins.bin + i);
        }
      }
      means[size_t(v) * binned.columns + u] = static_cast<float>(sum / (bins.bin * bins.bin));
    }
  }
}

}  // namespace isocenter::recon
