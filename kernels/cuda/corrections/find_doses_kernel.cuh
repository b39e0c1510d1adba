// Means of tiles in the air strips, and the dose that they tell: one team for each view.
#pragma once

#include <cstdint>

#include "kernels/cuda/corrections/team.cuh"
#include "kernels/ops/corrections.h"

namespace isocenter::cuda {

inline constexpr int kDoseThreads = 256;
/// Views of one launch: what is given goes with its arguments, which needs no copy that somebody
/// would wait for.
inline constexpr int kDosesAtOnce = 256;

struct DoseJob {
  int rows, columns;      // of pixels
  int tile_rows, across;  // of tiles in each strip
  const float* frames;
  float* means;  // of the tiles of each view
  float* doses;
  float given[kDosesAtOnce];

  int64_t tiles() const { return int64_t{2} * tile_rows * across; }
};

/// By kAirTile threads side by side, of which the first gets the mean: each adds up a column, then
/// they add in pairs.
__device__ inline float TileMean(const float* corner, int64_t row_stride, int column) {
  constexpr int kTile = ops::kAirTile;
  float sum = 0;
#pragma unroll
  for (int v = 0; v < kTile; ++v) sum += corner[v * row_stride + column];
#pragma unroll
  for (int offset = kTile / 2; offset > 0; offset /= 2) {
    sum += __shfl_down_sync(0xffffffffu, sum, offset, kTile);
  }
  return sum / (kTile * kTile);
}

/// This part's rows of tiles.
__device__ inline void FindTileMeans(const Team& team, const DoseJob& job, float* means) {
  constexpr int kTile = ops::kAirTile, kTilesAtOnce = kDoseThreads / kTile;
  const int64_t row_stride = job.columns;
  const float* const frame = job.frames + team.view() * (row_stride * job.rows);
  const int of_row = 2 * job.across, end = team.End(job.tile_rows) * of_row;
  // All threads take part until the last of the warp has nothing left: they add each other's sums.
  for (int first = team.Begin(job.tile_rows) * of_row; first < end; first += kTilesAtOnce) {
    const int tile = first + static_cast<int>(threadIdx.x) / kTile;
    const int taken = min(tile, end - 1);
    const int place = taken % of_row;
    const int u =
        place < job.across ? place * kTile : job.columns - (place - job.across + 1) * kTile;
    const float* const corner = frame + int64_t{taken / of_row} * kTile * row_stride + u;
    const float mean = TileMean(corner, row_stride, static_cast<int>(threadIdx.x) % kTile);
    if (threadIdx.x % kTile == 0 && tile < end) means[tile] = mean;
  }
}

/// Over all threads of a block, in a fixed order; every thread gets it. `shared` has a place for
/// each.
template <class T, class Combine>
__device__ inline T OverBlock(T value, T* shared, Combine combine) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kDoseThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
  }
  const T result = shared[0];
  __syncthreads();
  return result;
}

/// By one block.
__device__ inline float DoseOf(const float* means, int tiles) {
  __shared__ double shared[kDoseThreads];
  double brightest = -INFINITY;
  for (int i = threadIdx.x; i < tiles; i += kDoseThreads) {
    brightest = fmax(brightest, double{means[i]});
  }
  brightest = OverBlock(brightest, shared, [](double a, double b) { return fmax(a, b); });
  const double least = (1 - ops::kAirTolerance) * brightest;
  double sum = 0, air = 0;
  for (int i = threadIdx.x; i < tiles; i += kDoseThreads) {
    if (means[i] >= least) {
      sum += means[i];
      air += 1;
    }
  }
  const auto add = [](double a, double b) { return a + b; };
  sum = OverBlock(sum, shared, add);
  air = OverBlock(air, shared, add);
  const double dose = sum / air;
  return dose >= ops::kLeastDose && dose <= ops::kMostDose ? static_cast<float>(dose) : 1.f;
}

__global__ __launch_bounds__(kDoseThreads) void FindDosesKernel(
    const __grid_constant__ DoseJob job) {
  const Team team{};
  const float given = job.given[team.view()];
  const int tiles = 2 * job.tile_rows * job.across;
  if (given != 0 || tiles == 0) {
    if (team.part() == 0 && threadIdx.x == 0) job.doses[team.view()] = given != 0 ? given : 1.f;
    return;
  }
  float* const means = job.means + static_cast<int64_t>(team.view()) * tiles;
  FindTileMeans(team, job, means);
  team.Sync();
  if (team.part() != 0) return;
  const float dose = DoseOf(means, tiles);
  if (threadIdx.x == 0) job.doses[team.view()] = dose;
}

}  // namespace isocenter::cuda
