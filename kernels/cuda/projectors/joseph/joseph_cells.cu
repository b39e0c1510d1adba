#include <cuda_pipeline_primitives.h>

#include "kernels/cuda/projectors/joseph/joseph.cuh"
#include "kernels/cuda/projectors/joseph/joseph_cells.cuh"
#include "kernels/cuda/projectors/joseph/joseph_cells.h"

namespace isocenter::cuda {
namespace {

constexpr int kSumWarps = 4, kSumRows = 16;

// A block sums 32 columns of one view; a warp has a part of their rows, a lane a column.
template <bool kUpright>
__global__ __launch_bounds__(32 * kSumWarps) void SumKernel(const __grid_constant__ CellViews views,
                                                            PlaneAxes axes, JosephExtent e,
                                                            const float* projections,
                                                            RunningSums to) {
  __shared__ float largest[kSumWarps][32];
  __shared__ uint32_t parts[kSumWarps][kUpright ? 2 : 3][32];
  __shared__ uint2 turned[kSumWarps][32][kSumRows + 1];
  __shared__ uint32_t turned_third[kUpright ? 1 : kSumWarps][32][kSumRows + 1];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const CellView& view = views.of[blockIdx.y];
  const int first_column = blockIdx.x * 32, column = first_column + lane;
  const int u = view.mirrored_u ? e.columns - 1 - column : column;
  const int per_warp = ((e.rows + kSumWarps - 1) / kSumWarps + kSumRows - 1) / kSumRows * kSumRows;
  const int begin = min(warp * per_warp, e.rows), end = min(begin + per_warp, e.rows);
  const float* const pixels =
      projections + static_cast<int64_t>(view.index) * e.rows * e.columns + u;
  const auto weighed = [&](int row) {
    const int v = view.mirrored_v ? e.rows - 1 - row : row;
    const float from_u = u - 0.5f * (e.columns - 1), from_v = v - 0.5f * (e.rows - 1);
    return column < e.columns && IsMajor(axes, view.rays, from_u, from_v)
               ? RayOf(view.rays, e, from_u, from_v).length *
                     __ldg(pixels + static_cast<int64_t>(v) * e.columns)
               : 0.f;
  };
  float most = 0;
  bool finite = true;
  for (int row = begin; row < end; ++row) {
    const float magnitude = fabsf(weighed(row));
    most = fmaxf(most, magnitude);
    finite = finite && magnitude < INFINITY;
  }
  largest[warp][lane] = finite ? most : INFINITY;
  __syncthreads();
  for (int i = 0; i < kSumWarps; ++i) most = fmaxf(most, largest[i][lane]);
  // 2^exponent is above all; NaN spreads.
  int exponent = 0;
  frexpf(most, &exponent);
  const bool none = most < 0x1p-90f;
  const float scale = most == INFINITY ? NAN : none ? 0.f : ldexpf(1.f, exponent - view.bits);
  const float per_scale = none ? 0.f : ldexpf(1.f, view.bits - exponent);
  const auto quantity = [&](int row) {
    return static_cast<uint32_t>(__float2int_rn(weighed(row) * per_scale));
  };
  uint32_t sum = 0, second = 0, third = 0;
  const auto add = [&](int row) {
    const uint32_t q = quantity(row), at = kShiftBits + row;
    sum += q;
    second += at * q;
    if constexpr (!kUpright) third += at * at * q;
  };
  for (int row = begin; row < end; ++row) add(row);
  parts[warp][0][lane] = sum;
  parts[warp][1][lane] = second;
  if constexpr (!kUpright) parts[warp][2][lane] = third;
  __syncthreads();
  sum = second = third = 0;
  for (int i = 0; i < warp; ++i) {
    sum += parts[i][0][lane];
    second += parts[i][1][lane];
    if constexpr (!kUpright) third += parts[i][2][lane];
  }
  const int64_t of_view = static_cast<int64_t>(blockIdx.y) * e.columns;
  if (warp == 0 && column < e.columns) to.scale[of_view + column] = scale;
  // The sums before each row, and behind the last warp's those of all.
  for (int from = begin; from < end; from += kSumRows) {
    const int count = min(kSumRows, end - from);
    for (int i = 0; i < count; ++i) {
      turned[warp][lane][i] = make_uint2(sum, second);
      if constexpr (!kUpright) turned_third[warp][lane][i] = third;
      add(from + i);
    }
    __syncwarp();
    for (int i = lane; i < 32 * kSumRows; i += 32) {
      const int of = i / kSumRows, row = i % kSumRows;
      if (first_column + of >= e.columns || row >= count) continue;
      const int64_t at = (of_view + first_column + of) * to.pitch + from + row;
      to.sums[at] = turned[warp][of][row];
      if constexpr (!kUpright) to.third[at] = turned_third[warp][of][row];
    }
    __syncwarp();
  }
  if (begin < end && end == e.rows && column < e.columns) {
    const int64_t at = (of_view + column) * to.pitch + e.rows;
    to.sums[at] = make_uint2(sum, second);
    if constexpr (!kUpright) to.third[at] = third;
  }
}

constexpr int kVoxels = kGaps - 1;  // of a block along b
constexpr int kCellThreads = 32 * kPlanes;

// A column of the tile.
struct TileColumn {
  const unsigned char* sums;  // of the tile
  const unsigned char* thirds;
  uint32_t at;  // of the column's row whose number is 0, in elements
  __device__ uint2 Sums(uint32_t row) const {
    return *reinterpret_cast<const uint2*>(sums + (at * 8 + row * 8));
  }
  __device__ uint32_t Third(uint32_t row) const {
    return *reinterpret_cast<const uint32_t*>(thirds + (at * 4 + row * 4));
  }
};

// Running sums of a part of a view's tile in shared memory. There are two of them: one is used
// while the other is filled.
template <bool kUpright>
constexpr int kPartBytes = kPartSums<kUpright>*(kUpright ? 8 : 12);

// What is in shared memory at a time: columns of a view's tile from `first` on.
struct Part {
  int view, first;
};

// This part, or if its view has no columns left, the first one of the next view that has.
__device__ inline Part SeenPart(Part part, const ViewOfBlock* blocks, int count) {
  while (part.view < count && part.first >= blocks[part.view].columns) {
    part = {part.view + 1, 0};
  }
  return part;
}

// Begins to copy a part; a thread waits for its own copies by __pipeline_wait_prior.
template <bool kUpright>
__device__ __forceinline__ void Fetch(const ViewOfBlock& view, const Part& part,
                                      const JosephExtent& e, const RunningSums& from,
                                      unsigned char* to, float* scales) {
  const int columns = min(view.at_a_time, view.columns - part.first);
  const int64_t first_column =
      static_cast<int64_t>(part.view) * e.columns + view.column + part.first;
  const uint2* const sums = from.sums + first_column * from.pitch;
  [[maybe_unused]] const uint32_t* const thirds = from.third + first_column * from.pitch;
  const int height = view.rows + 1;
  int column = static_cast<int>(threadIdx.x) / height;
  int row = static_cast<int>(threadIdx.x) - column * height;
  while (column < columns) {
    const int at = column * from.pitch + min(max(view.row + row, 0), e.rows);
    const int in_tile = column * view.pitch + row;
    __pipeline_memcpy_async(to + in_tile * 8, sums + at, 8);
    if constexpr (!kUpright) {
      __pipeline_memcpy_async(to + kPartSums<kUpright> * 8 + in_tile * 4, thirds + at, 4);
    }
    column += view.step_columns;
    row += view.step_rows;
    if (row >= height) {
      row -= height;
      ++column;
    }
  }
  if (static_cast<int>(threadIdx.x) < columns) {
    __pipeline_memcpy_async(scales + threadIdx.x, from.scale + first_column + threadIdx.x, 4);
  }
  __pipeline_commit();
}

template <bool kUpright>
__global__ __launch_bounds__(kCellThreads,
                             kCellBlocks) void CellKernel(const __grid_constant__ CellViews views,
                                                          int count, PlaneAxes axes, JosephExtent e,
                                                          Extent extent, RunningSums from,
                                                          float* volume) {
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ViewOfBlock blocks[kAdjointViews];
  __shared__ float scales[2][kPartColumns];
  const int a0 = blockIdx.y * kPlanes, b0 = static_cast<int>(blockIdx.x) * kVoxels - 1;
  const int z0 = blockIdx.z * kRun;
  if (threadIdx.x < count) {
    blocks[threadIdx.x] = ViewOf(views.of[threadIdx.x], axes, e, a0, b0, z0, kPartSums<kUpright>);
  }
  if (!__syncthreads_or(threadIdx.x < count && blocks[threadIdx.x].columns > 0)) return;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float below[kRun] = {}, above[kRun] = {};  // leaning: both and above
  float bent[kUpright ? 1 : kRun + 1] = {};
  Part part = SeenPart({0, 0}, blocks, count);
  Fetch<kUpright>(blocks[part.view], part, e, from, shared, scales[0]);
#pragma unroll 1
  for (int buffer = 0; part.view < count; buffer ^= 1) {
    const ViewOfBlock& view = blocks[part.view];
    const Part next = SeenPart({part.view, part.first + view.at_a_time}, blocks, count);
    // After this all copies have come, and nobody reads the other buffer any more.
    __pipeline_wait_prior(0);
    __syncthreads();
    if (next.view < count) {
      Fetch<kUpright>(blocks[next.view], next, e, from,
                      shared + (buffer ^ 1) * kPartBytes<kUpright>, scales[buffer ^ 1]);
    }
    const Seen lower = SeenAt(view, warp, lane), upper = SeenAt(view, warp, lane + 1);
    const ColumnRange mine = ColumnsOf(view, lower, upper, kUpright);
    const float shift = kShift + view.row;
    const unsigned char* const sums = shared + buffer * kPartBytes<kUpright>;
    const int last = min(mine.end, part.first + view.at_a_time);
#pragma unroll 1
    for (int c = max(mine.first, part.first); c < last; ++c) {
      const int in_part = c - part.first;
      const TileColumn column{sums, sums + kPartSums<kUpright> * 8,
                              in_part * view.pitch - kShiftBits - view.row};
      const float scale = scales[buffer][in_part];
      if constexpr (kUpright) {
        AddUpright(view, lower, c, scale, shift, column, below, above);
      } else {
        AddLeaning(view, lower, upper, c, scale, shift, column, below, above, bent);
      }
    }
    part = next;
  }
  // A voxel has the upper side of one gap and the lower side of the next one.
  __syncthreads();
  float* const totals = reinterpret_cast<float*>(shared);
  constexpr int kPitchA = kPlanes + 1, kPitchZ = kVoxels * kPitchA;
#pragma unroll
  for (int k = 0; k < kRun; ++k) {
    float upper = above[k], lower = below[k];
    if constexpr (!kUpright) {
      upper += bent[k + 1] - bent[k];
      lower -= upper;
    }
    const float total = lower + __shfl_up_sync(0xFFFFFFFF, upper, 1);
    if (lane > 0) totals[k * kPitchZ + (lane - 1) * kPitchA + warp] = total;
  }
  __syncthreads();
  const int stride_a = axes.major == 0 ? 1 : extent.nx, stride_b = axes.b == 0 ? 1 : extent.nx;
  for (int i = threadIdx.x; i < kRun * kVoxels * kPlanes; i += kCellThreads) {
    const int k = i / (kVoxels * kPlanes), in_slice = i % (kVoxels * kPlanes);
    const int a = axes.major == 0 ? in_slice % kPlanes : in_slice / kVoxels;
    const int b = axes.major == 0 ? in_slice / kPlanes : in_slice % kVoxels;
    const int at_a = a0 + a, at_b = b0 + 1 + b;
    if (at_a >= e.n_major || at_b >= e.n_b || z0 + k >= extent.nz) continue;
    float* const voxel = volume + static_cast<int64_t>(z0 + k) * extent.nx * extent.ny +
                         static_cast<int64_t>(at_a) * stride_a +
                         static_cast<int64_t>(at_b) * stride_b;
    *voxel += totals[k * kPitchZ + b * kPitchA + a];
  }
}

static_assert((kRun * kVoxels * (kPlanes + 1)) * 4 <= 2 * kPartBytes<true>);

template <bool kUpright>
absl::Status Gather(const CellViews& views, int count, const PlaneAxes& axes, const JosephExtent& e,
                    const VolumeGrid& grid, const RunningSums& from, float* volume,
                    cudaStream_t stream) {
  const Extent extent{grid.nx, grid.ny, grid.nz, e.columns, e.rows};
  const auto kernel = CellKernel<kUpright>;
  ISO_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                2 * kPartBytes<kUpright>));
  const dim3 blocks((e.n_b + kVoxels - 1) / kVoxels, (e.n_major + kPlanes - 1) / kPlanes,
                    (grid.nz + kRun - 1) / kRun);
  kernel<<<blocks, kCellThreads, 2 * kPartBytes<kUpright>, stream>>>(views, count, axes, e, extent,
                                                                     from, volume);
  return ToStatus(cudaGetLastError(), "CellKernel");
}

}  // namespace

absl::Status SumColumns(const CellViews& views, int count, const PlaneAxes& axes,
                        const JosephExtent& e, const float* projections, const RunningSums& to,
                        cudaStream_t stream) {
  const auto kernel = views.of[0].upright ? SumKernel<true> : SumKernel<false>;
  kernel<<<dim3((e.columns + 31) / 32, count), 32 * kSumWarps, 0, stream>>>(views, axes, e,
                                                                            projections, to);
  return ToStatus(cudaGetLastError(), "SumKernel");
}

absl::Status GatherCells(const CellViews& views, int count, const PlaneAxes& axes,
                         const JosephExtent& e, const VolumeGrid& grid, const RunningSums& from,
                         float* volume, cudaStream_t stream) {
  const auto gather = views.of[0].upright ? Gather<true> : Gather<false>;
  return gather(views, count, axes, e, grid, from, volume, stream);
}

}  // namespace isocenter::cuda
