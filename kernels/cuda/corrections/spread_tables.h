// What Gaussians bring from block to block (kernels/ops/corrections.h), in device memory.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cuda/device/owners.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/corrections.h"

namespace isocenter::cuda {

/// Outputs in a row that a thread computes. Odd: threads side by side read weights that lie in
/// different banks of shared memory.
inline constexpr int kRun = 5;

/// Blocks of pixels of a frame.
struct BlockShape {
  int rows, columns;

  static BlockShape Of(const Detector& detector) {
    return {(detector.rows + ops::kCoarseBlock - 1) / ops::kCoarseBlock,
            (detector.columns + ops::kCoarseBlock - 1) / ops::kCoarseBlock};
  }
  int64_t count() const { return int64_t{rows} * columns; }
};

/// Runs of outputs that a line of `blocks` has.
__host__ __device__ constexpr int RunsOf(int blocks) { return (blocks + kRun - 1) / kRun; }

/// Sums along rows of one Gaussian: whole runs.
__host__ __device__ constexpr int64_t SumsAlongRows(const BlockShape& shape) {
  return int64_t{shape.rows} * kRun * RunsOf(shape.columns);
}

/// A table for each Gaussian along rows, then one for each along columns: how many blocks it
/// reaches, then weights by the distance in blocks, and zeros behind them for the runs that reach
/// beyond the last block.
struct TableLayout {
  int gaussians;
  int along_row, along_column;  // floats of one table; odd, so that tables begin in other banks
  int floats;                   // of all

  static TableLayout Of(const BlockShape& shape, size_t gaussians) {
    const int count = static_cast<int>(gaussians);
    const int along_row = (shape.columns + kRun) | 1;
    const int along_column = (shape.rows + kRun) | 1;
    return {count, along_row, along_column, count * (along_row + along_column)};
  }
};

/// Its weights along columns contain `factor`.
struct ScaledGaussian {
  double sigma_mm, factor;
};

/// Errors: RESOURCE_EXHAUSTED, INTERNAL (CUDA).
absl::StatusOr<DeviceBuffer<float>> NewTables(const Memory& memory, const Detector& detector,
                                              const std::vector<ScaledGaussian>& gaussians);

}  // namespace isocenter::cuda
