// Sums of one line of blocks over a Gaussian: each in the order of the line.
#pragma once

#include "kernels/cuda/corrections/spread_tables.h"

namespace isocenter::cuda {

/// To shared memory, by all threads of a block.
__device__ inline void LoadTables(const TableLayout& layout, const float* from, float* tables) {
  for (int i = threadIdx.x; i < layout.floats; i += blockDim.x) tables[i] = from[i];
  __syncthreads();
}

__device__ inline const float* AlongRow(const TableLayout& layout, const float* tables, int index) {
  return tables + index * layout.along_row;
}
__device__ inline const float* AlongColumn(const TableLayout& layout, const float* tables,
                                           int index) {
  return tables + layout.gaussians * layout.along_row + index * layout.along_column;
}

/// Runs of outputs that a line of `blocks` has.
__device__ inline int RunsOf(int blocks) { return (blocks + kRun - 1) / kRun; }

/// Adds Σ_i line[i]·table[|first + q - i|] to sums[q].
__device__ inline void AddLine(const float* line, int blocks, const float* table, int first,
                               float (&sums)[kRun]) {
  float weight[kRun];
#pragma unroll
  for (int q = 0; q < kRun; ++q) weight[q] = table[first + q];
#pragma unroll 4
  for (int i = 0; i < blocks; ++i) {
    const float x = line[i];
#pragma unroll
    for (int q = 0; q < kRun; ++q) sums[q] = fmaf(x, weight[q], sums[q]);
      // One block on: all but the first have the weight of their left neighbour before.
#pragma unroll
    for (int q = kRun - 1; q > 0; --q) weight[q] = weight[q - 1];
    weight[0] = table[abs(first - (i + 1))];
  }
}

/// The same for two lines at once.
__device__ inline void AddLines(const float* line, const float* other_line, int blocks,
                                const float* table, int first, float (&sums)[kRun],
                                float (&other_sums)[kRun]) {
  float weight[kRun];
#pragma unroll
  for (int q = 0; q < kRun; ++q) weight[q] = table[first + q];
#pragma unroll 4
  for (int i = 0; i < blocks; ++i) {
    const float x = line[i], other = other_line[i];
#pragma unroll
    for (int q = 0; q < kRun; ++q) {
      sums[q] = fmaf(x, weight[q], sums[q]);
      other_sums[q] = fmaf(other, weight[q], other_sums[q]);
    }
#pragma unroll
    for (int q = kRun - 1; q > 0; --q) weight[q] = weight[q - 1];
    weight[0] = table[abs(first - (i + 1))];
  }
}

}  // namespace isocenter::cuda
