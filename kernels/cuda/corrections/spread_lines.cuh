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

/// Weights of a Gaussian by the distance, and how many blocks it reaches.
__device__ inline const float* AlongRow(const TableLayout& layout, const float* tables, int index) {
  return tables + index * layout.along_row + 1;
}
__device__ inline const float* AlongColumn(const TableLayout& layout, const float* tables,
                                           int index) {
  return tables + layout.gaussians * layout.along_row + index * layout.along_column + 1;
}
__device__ inline int ReachOf(const float* table) { return static_cast<int>(table[-1]); }

/// Where the sums of row `line` of all (a Gaussian's rows follow another's) begin, and where in it
/// a run's q-th is: threads side by side have runs side by side, and write to neighbours.
__device__ inline int64_t RowOfSums(const BlockShape& shape, int line) {
  return int64_t{line} * kRun * RunsOf(shape.columns);
}
__device__ inline int PlaceInRow(const BlockShape& shape, int run, int q) {
  return q * RunsOf(shape.columns) + run;
}

/// stage[place(i)] = load(i) for i below `count` where wanted(i), by all threads of a block, with
/// several loads under way at once.
template <class Value, class Wanted, class Load, class Place>
__device__ inline void Stage(int count, Wanted wanted, Load load, Place place, Value* stage) {
  constexpr int kAtOnce = 8;
  for (int first = threadIdx.x; first < count; first += kAtOnce * kTeamThreads) {
    Value values[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = first + k * kTeamThreads;
      if (i < count && wanted(i)) values[k] = load(i);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = first + k * kTeamThreads;
      if (i < count && wanted(i)) stage[place(i)] = values[k];
    }
  }
}

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

/// Adds Σ_i line[i·stride]·table[|first + q - i|] over begin <= i < end to sums[q], as far as the
/// table reaches; of that the part `split` of `splits`.
template <class Value>
__device__ inline void AddLine(const Value* line, int stride, int begin, int end,
                               const float* table, int first, int split, int splits,
                               Value (&sums)[kRun]) {
  const int reach = ReachOf(table);
  begin = max(begin, first - reach);
  const int count = max(0, min(end, first + kRun + reach) - begin);
  end = begin + count * (split + 1) / splits;
  begin += count * split / splits;
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
/// the column). `along_rows`: as RowOfSums, of the whole team. `stage`: shared memory.
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
      const int of_gaussian = rows * width;
      Stage(
          count * of_gaussian, [&](int i) { return present(from + i / of_gaussian); },
          [&](int i) {
            const int column = left + i % width;
            return along_rows[RowOfSums(shape, from * rows + i / width) +
                              PlaceInRow(shape, column / kRun, column % kRun)];
          },
          [](int i) { return i; }, stage);
      __syncthreads();
      if (first >= rows) continue;
      for (int gaussian = 0; gaussian < count; ++gaussian) {
        if (!present(from + gaussian)) continue;
        AddLine(stage + gaussian * of_gaussian + u, width, 0, rows,
                AlongColumn(layout, tables, from + gaussian), first, split, kSplits, sums);
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
