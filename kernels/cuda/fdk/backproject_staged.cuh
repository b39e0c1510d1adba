// Voxel-driven back-projection from shared memory (kernel B of Zinsser & Keck 2013 with staging).
// The part of a view that a block of 16 x 16 x 16 voxels looks at is one tile of pixels. The tensor
// memory accelerator copies it into shared memory while the block works on the views before. A
// sample then costs neither the texture unit, which issues 4 per clock and multiprocessor, nor tag
// look-ups in the first-level cache; what bounds it is the rate at which instructions are issued.
#pragma once

#include <type_traits>

#include "kernels/cuda/device/half_pixels.h"
#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/fdk/backproject_weights.cuh"
#include "kernels/cuda/fdk/tile_copy.cuh"
#include "kernels/cuda/fdk/tile_maps.h"
#include "kernels/cuda/fdk/tile_source.cuh"

namespace isocenter::cuda {

inline constexpr int kStagedDepth = 16;
inline constexpr int kStagedBlocks = 4;  // per multiprocessor

// Shapes of tiles. The width is 16 modulo 32, so that neighbouring rows lie in different banks.
struct FineTile {  // up to about 1.6 pixels per voxel
  static constexpr int kColumns = 48, kRows = 40, kStep = 4, kStages = 3;
};
struct CoarseTile {  // up to about 3.3
  static constexpr int kColumns = 80, kRows = 64, kStep = 8, kStages = 2;
};
// At the isocentre. Nearer to the source it is up to a third more; a few blocks there may not fit.
inline constexpr double kMostPixelsPerVoxel = 3;

/// The bilinear sample at (column + u, row + v) of a tile whose element (column, row) is at
/// `address`.
template <class Tile>
__device__ float SampleTile(unsigned address, float u, float v) {
  constexpr int kNextRow = 4 * Tile::kColumns;
  const float a = LoadShared<0>(address), b = LoadShared<4>(address);
  const float c = LoadShared<kNextRow>(address), d = LoadShared<kNextRow + 4>(address);
  const float top = fmaf(u, b - a, a), bottom = fmaf(u, d - c, c);
  return fmaf(v, bottom - top, top);
}

// Where a view's tile lies, and the matrix from voxels of the block to positions in it.
struct StagedView {
  float4 u, v, w;
  int column, row, height, bytes;
};

// The first kTextured voxels of each run are sampled by the texture unit, which works beside the
// load/store units; `texture` holds the views as HalfTexture::FillPixels does. With none the
// result is exact.
template <class Tile, int kTextured, class Weights>
__global__ __launch_bounds__(kThreads, kStagedBlocks) void StagedKernel(
    const __grid_constant__ Matrices matrices, const __grid_constant__ Weights weights,
    const __grid_constant__ TileMaps maps, int views, cudaTextureObject_t texture,
    const float* projections, Extent e, float* volume) {
#if __CUDA_ARCH__ >= 900
  constexpr float kBend = kTextured == 0 ? kExactBend : kFastBend;
  constexpr int kStages = Tile::kStages, kTileBytes = Tile::kColumns * Tile::kRows * 4;
  extern __shared__ __align__(128) unsigned char tiles[];
  __shared__ SharedMatrices shared;
  __shared__ StagedView staged[kMaxViews];
  __shared__ TileBarrier filled[kStages];
  // 2^23 + n has the bits of 2^23 plus n: the address of element n is 4 times the bits from here.
  // Through memory, or the compiler would subtract it for each sample. Where the row is still to be
  // multiplied by the columns, its 2^23 is subtracted too: rows_origin.
  __shared__ unsigned origin[kStages], rows_origin[kStages];
  __shared__ unsigned block_touches, block_stages, block_straight, block_in_front;
  __shared__ unsigned block_parallel;

  const int x0 = blockIdx.x * kBlockX, y0 = blockIdx.y * kBlockY, z0 = blockIdx.z * kStagedDepth;
  const int2 column = ColumnOfThread();
  const int x = x0 + column.x, y = y0 + column.y, lane = threadIdx.x % 32;
  Load(matrices, views, shared);
  if (threadIdx.x == 0) block_touches = 0;
  __syncthreads();
  bool touches = false;
  if (lane < views) {
    const int2 warp = ColumnOfWarp();
    touches = FootprintOf<kWarpX, kWarpY, kStagedDepth>(shared.m[lane], x0 + warp.x, y0 + warp.y,
                                                        z0, e, kBend)
                  .touches;
  }
  const unsigned own = __ballot_sync(0xffffffffu, touches);
  if (lane == 0 && own != 0) atomicOr(&block_touches, own);
  __syncthreads();
  const unsigned touching = block_touches;
  if (touching == 0) return;

  if (threadIdx.x < 32) {
    Footprint whole{}, part{};
    bool fits = false;
    if ((touching >> lane) & 1) {
      const float* m = shared.m[lane];
      whole = FootprintOf<kBlockX, kBlockY, kStagedDepth>(m, x0, y0, z0, e, kBend);
      part = FootprintOf<kBlockX, kBlockY, kStagedDepth - kTextured>(m, x0, y0, z0 + kTextured, e,
                                                                     kBend);
      constexpr float kMargin = 0.05f;  // for rounding of u and v along the run
      const float u = floorf((part.u_low - kMargin) * 0.25f) * 4, v = floorf(part.v_low - kMargin);
      const float rows = part.v_high + kMargin - v + 1;
      fits = whole.in_front && part.u_high + kMargin - u < Tile::kColumns - 1 && rows < Tile::kRows;
      if (fits) {
        const double* exact = matrices.exact[lane];
        const auto at_block = [&](int row) {
          return exact[row] * x0 + exact[row + 1] * y0 + exact[row + 2] * z0 + exact[row + 3];
        };
        const double w = at_block(8);
        StagedView& view = staged[lane];
        view.u =
            make_float4(m[0] - u * m[8], m[1] - u * m[9], m[2] - u * m[10], at_block(0) - u * w);
        view.v =
            make_float4(m[4] - v * m[8], m[5] - v * m[9], m[6] - v * m[10], at_block(4) - v * w);
        view.w = make_float4(m[8], m[9], m[10], w);
        constexpr int kLeast = Tile::kRows - (TileMaps::kHeights - 1) * Tile::kStep;
        view.column = static_cast<int>(u);
        view.row = static_cast<int>(v);
        view.height =
            max(0, (static_cast<int>(ceilf(rows)) - kLeast + Tile::kStep - 1) / Tile::kStep);
        view.bytes = (kLeast + view.height * Tile::kStep) * Tile::kColumns * 4;
      }
    }
    const unsigned all_fit = __ballot_sync(0xffffffffu, fits);
    const unsigned all_straight = __ballot_sync(0xffffffffu, whole.straight);
    const unsigned all_in_front = __ballot_sync(0xffffffffu, whole.in_front);
    constexpr float kHalfRun = 0.5f * (kStagedDepth - 1);
    const unsigned all_parallel = __ballot_sync(0xffffffffu, kHalfRun * whole.du_most < kBend);
    if (lane == 0) {
      block_parallel = all_parallel;
      block_stages = all_fit;
      block_straight = all_straight;
      block_in_front = all_in_front;
      for (int i = 0; i < kStages; ++i) {
        filled[i].Init();
        origin[i] = SharedAddress(tiles + i * kTileBytes) - (__float_as_uint(0x1p23f) << 2);
        rows_origin[i] = origin[i] - __float_as_uint(0x1p23f) * (4 * Tile::kColumns);
      }
      TileBarrier::Publish();
    }
  }
  float sum[kStagedDepth];
  LoadRun(volume, e, x, y, z0, sum);
  __syncthreads();

  const unsigned stages = block_stages;
  unsigned pending = stages;  // tiles that are still to be copied; thread 0 does
  const auto copy = [&](int stage) {
    const int i = __ffs(pending) - 1;
    pending &= pending - 1;
    const StagedView& view = staged[i];
    filled[stage].ArriveAndExpect(view.bytes);
    filled[stage].Copy(maps.of_height[view.height], view.column, view.row, weights.ViewOf(i),
                       tiles + stage * kTileBytes);
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages && pending != 0; ++i) copy(i);
  }
  const float local_x = column.x, local_y = column.y;
  int stage = 0;
  unsigned phase = 0;
  bool first = true;
  for (unsigned rest = touching; rest != 0; rest &= rest - 1) {
    const int i = __ffs(rest) - 1;
    if (((stages >> i) & 1) == 0) {
      // Tiles that are too large, blocks around the source: few where speed matters.
      if (((own >> i) & 1) == 0) continue;
      const float* const view =
          projections + static_cast<int64_t>(weights.ViewOf(i)) * e.rows * e.columns;
      const auto factor = [&](float u, float v) { return weights.Factor(i, u, v); };
      if ((block_in_front >> i) & 1) {
        AddAnywhere(matrices.m[i], view, e, x, y, z0, sum, factor);
      } else {
        AddAnywhere(matrices.exact[i], view, e, x, y, z0, sum, factor);
      }
      continue;
    }
    filled[stage].Wait(phase);
    __syncthreads();  // all have read the tile before
    if (threadIdx.x == 0 && !first && pending != 0) copy(stage == 0 ? kStages - 1 : stage - 1);
    first = false;
    if ((own >> i) & 1) {
      const StagedView& view = staged[i];
      const float uw = fmaf(view.u.x, local_x, fmaf(view.u.y, local_y, view.u.w));
      const float vw = fmaf(view.v.x, local_x, fmaf(view.v.y, local_y, view.v.w));
      const float w = fmaf(view.w.x, local_x, fmaf(view.w.y, local_y, view.w.w));
      const unsigned tile = origin[stage];
      const auto sample = [&](float u, float v) {
        const float u_bits = __fadd_rd(u, 0x1p23f), v_floor = __fadd_rd(v, 0x1p23f) - 0x1p23f;
        const float element = fmaf(v_floor, static_cast<float>(Tile::kColumns), u_bits);
        return SampleTile<Tile>((__float_as_uint(element) << 2) + tile, u - (u_bits - 0x1p23f),
                                v - v_floor);
      };
      const float column_centre = view.column + 0.5f, row_centre = view.row + 0.5f;
      const auto textured = [&](float u, float v) {
        return tex2DLayered<float>(texture, u + column_centre, v + row_centre, i) / kHalfScale;
      };
      if ((block_straight >> i) & 1) {
        constexpr float kSteps = kStagedDepth - 1;
        const float near = Reciprocal(w), far = Reciprocal(fmaf(kSteps, view.w.z, w));
        const float u = uw * near, v = vw * near, weight = near * near;
        const float du = (fmaf(kSteps, view.u.z, uw) * far - u) * (1 / kSteps);
        const float dv = (fmaf(kSteps, view.v.z, vw) * far - v) * (1 / kSteps);
        const float dweight = (far * far - weight) * (1 / kSteps);
        if constexpr (Weights::kVary) {
          static_assert(kTextured == 0);
          // The factor is that of a place in the view, not a linear function of k.
          const auto weight_at = [&](float k) {
            const float r = Reciprocal(fmaf(k, view.w.z, w));
            return weights.Factor(i, fmaf(k, du, u) + view.column, fmaf(k, dv, v) + view.row) *
                   (r * r);
          };
          const Parabola<kStagedDepth> parabola(weight_at(0), weight_at(kSteps / 2),
                                                weight_at(kSteps));
#pragma unroll
          for (int k = 0; k < kStagedDepth; ++k) {
            sum[k] = fmaf(parabola(k), sample(fmaf(k, du, u), fmaf(k, dv, v)), sum[k]);
          }
        } else {
          float fetched[kTextured + 1];  // all asked for before the first is needed
#pragma unroll
          for (int k = 0; k < kTextured; ++k) {
            fetched[k] = tex2DLayered<float>(texture, fmaf(k, du, u + column_centre),
                                             fmaf(k, dv, v + row_centre), i);
          }
          // Where the run is parallel to the detector's columns, all of its samples come from
          // between the two columns of its middle.
          const auto add = [&](auto alike) {
            constexpr int kAlike = decltype(alike)::value;
#pragma unroll
            for (int begin = kTextured; begin < kStagedDepth; begin += kAlike) {
              const float middle = begin + 0.5f * (kAlike - 1), u_middle = fmaf(middle, du, u);
              const float u_bits = __fadd_rd(u_middle, 0x1p23f);
              const float u_rest = u_middle - (u_bits - 0x1p23f);
              const unsigned top = (__float_as_uint(u_bits) << 2) + rows_origin[stage];
#pragma unroll
              for (int k = begin; k < begin + kAlike && k < kStagedDepth; ++k) {
                const float v_k = fmaf(k, dv, v), v_bits = __fadd_rd(v_k, 0x1p23f);
                const unsigned address = __float_as_uint(v_bits) * (4 * Tile::kColumns) + top;
                sum[k] = fmaf(fmaf(k, dweight, weight),
                              SampleTile<Tile>(address, u_rest, v_k - (v_bits - 0x1p23f)), sum[k]);
              }
            }
          };
          if ((block_parallel >> i) & 1) {
            add(std::integral_constant<int, kStagedDepth>());
          } else {
            add(std::integral_constant<int, 1>());
          }
#pragma unroll
          for (int k = 0; k < kTextured; ++k) {
            sum[k] = fmaf(fmaf(k, dweight / kHalfScale, weight / kHalfScale), fetched[k], sum[k]);
          }
        }
      } else {
#pragma unroll
        for (int k = 0; k < kStagedDepth; ++k) {
          const float r = Reciprocal(fmaf(k, view.w.z, w));
          const float u = fmaf(k, view.u.z, uw) * r, v = fmaf(k, view.v.z, vw) * r;
          const float weight = weights.Factor(i, u + view.column, v + view.row) * (r * r);
          sum[k] = fmaf(weight, k < kTextured ? textured(u, v) : sample(u, v), sum[k]);
        }
      }
    }
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
  StoreRun(sum, e, x, y, z0, volume);
#endif
}

/// Whether all tiles of the views are Fine ones. If so, the result is the same for both.
inline bool FitFineTiles(const Matrices& matrices, int views, const Extent& e) {
  for (int i = 0; i < views; ++i) {
    const double* m = matrices.exact[i];
    const int counts[] = {e.nx, e.ny, e.nz};
    double depth = m[11];  // the least of the volume, with what blocks cover beyond it
    for (int axis = 0; axis < 3; ++axis) {
      depth += std::min(0.0, m[8 + axis] * (counts[axis] + kStagedDepth));
    }
    if (depth < kLeastDepth) return false;
    // |du/dx| = |m0 - u m8| / w, and u is at most a tile beyond the detector.
    const auto span = [&](int row, double extent, int tile) {
      const double centre = extent / 2, most = extent / 2 + tile;
      double sum = 0;
      for (int axis = 0; axis < 3; ++axis) {
        sum += std::abs(m[row + axis] - centre * m[8 + axis]) + most * std::abs(m[8 + axis]);
      }
      return sum * (kStagedDepth - 1) / depth;
    };
    if (span(0, e.columns, CoarseTile::kColumns) > FineTile::kColumns - 5.2 ||
        span(4, e.rows, CoarseTile::kRows) > FineTile::kRows - 2.2)
      return false;
  }
  return true;
}

/// Adds at most kMaxViews views. `tiled` holds the same as `projections` in elements of Pixels.
template <class Tile, int kTextured, class Weights>
absl::Status LaunchStaged(const Matrices& matrices, const Weights& weights, int views,
                          const TiledViews& tiled, cudaTextureObject_t texture,
                          const float* projections, const VolumeGrid& grid, const Extent& extent,
                          float* volume, cudaStream_t stream) {
  ISO_ASSIGN_OR_RETURN(const TileMaps maps,
                       MakeTileMaps(tiled, Tile::kColumns, Tile::kRows, Tile::kStep));
  constexpr int kBytes = Tile::kColumns * Tile::kRows * 4 * Tile::kStages;
  const auto kernel = StagedKernel<Tile, kTextured, Weights>;
  ISO_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<BlocksOf<kStagedDepth>(grid), kThreads, kBytes, stream>>>(
      matrices, weights, maps, views, texture, projections, extent, volume);
  return ToStatus(cudaGetLastError(), "StagedKernel");
}

}  // namespace isocenter::cuda
