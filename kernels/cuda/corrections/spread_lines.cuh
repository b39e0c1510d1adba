// Sums of lines of blocks over Gaussians by the threads of a team, from shared memory. The order of
// each sum depends on the shape alone, not on how many parts a team has.
#pragma once

#include "kernels/cuda/corrections/spread_plan.h"
#include "kernels/cuda/corrections/team.cuh"

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

// A value of a block is a number, or two that spread in the same way.
__device__ inline float MultiplyAdd(float weight, float value, float sum) {
  return fmaf(weight, value, sum);
}
__device__ inline float2 MultiplyAdd(float weight, float2 value, float2 sum) {
  return {fmaf(weight, value.x, sum.x), fmaf(weight, value.y, sum.y)};
}
__device__ inline float AddOfLane(float value, int mask) {
  return value + __shfl_xor_sync(0xffffffffu, value, mask);
}
__device__ inline float2 AddOfLane(float2 value, int mask) {
  return {AddOfLane(value.x, mask), AddOfLane(value.y, mask)};
}

/// Adds Σ_i line[i·stride]·table[|first + q - i|] over begin <= i < end to sums[q].
template <class Value>
__device__ inline void AddLine(const Value* line, int stride, int begin, int end,
                               const float* table, int first, Value (&sums)[kRun]) {
  float weight[kRun];
#pragma unroll
  for (int q = 0; q < kRun; ++q) weight[q] = table[abs(first + q - begin)];
    // After kRun steps each weight is in its register again.
#pragma unroll kRun
  for (int i = begin; i < end; ++i) {
    const Value value = line[i * stride];
#pragma unroll
    for (int q = 0; q < kRun; ++q) sums[q] = MultiplyAdd(weight[q], value, sums[q]);
      // One block on: all but the first have the weight of their left neighbour before.
#pragma unroll
    for (int q = kRun - 1; q > 0; --q) weight[q] = weight[q - 1];
    weight[0] = table[abs(first - (i + 1))];
  }
}

/// For this part's columns: take(row, column, Σ over Gaussians that are present of what lies along
/// the column). `along_rows`: [gaussian][row][column], of the whole team. `stage`: shared memory.
template <class Value, class Present, class Take>
__device__ inline void SpreadAlongColumns(const Team& team, const BlockShape& shape,
                                          const TableLayout& layout, const SpreadPlan& plan,
                                          const float* tables, const Value* along_rows,
                                          Value* stage, Present present, Take take) {
  const auto [rows, columns] = shape;
  const int split = static_cast<int>(threadIdx.x) % kSplits;
  const int end = team.End(columns);
  for (int left = team.Begin(columns); left < end; left += plan.columns_at_once) {
    const int width = min(plan.columns_at_once, end - left);
    const int u = static_cast<int>(threadIdx.x) / kSplits % width;
    const int first = static_cast<int>(threadIdx.x) / kSplits / width * kRun;
    Value sums[kRun] = {};
    for (int from = 0; from < layout.gaussians; from += plan.gaussians_at_once) {
      const int count = min(plan.gaussians_at_once, layout.gaussians - from);
      __syncthreads();  // nobody reads the stage any more
      for (int i = threadIdx.x; i < count * rows * width; i += blockDim.x) {
        const int line = i / width, gaussian = line / rows;
        if (!present(from + gaussian)) continue;
        stage[gaussian * plan.gaussian_stride + i - gaussian * rows * width] =
            along_rows[(from * rows + line) * columns + left + i % width];
      }
      __syncthreads();
      if (first >= rows) continue;
      for (int gaussian = split; gaussian < count; gaussian += kSplits) {
        if (!present(from + gaussian)) continue;
        AddLine(stage + gaussian * plan.gaussian_stride + u, width, 0, rows,
                AlongColumn(layout, tables, from + gaussian), first, sums);
      }
    }
#pragma unroll
    for (int q = 0; q < kRun; ++q) {
      for (int mask = 1; mask < kSplits; mask *= 2) sums[q] = AddOfLane(sums[q], mask);
      if (q % kSplits == split && first + q < rows) take(first + q, left + u, sums[q]);
    }
  }
}

}  // namespace isocenter::cuda
