// A warp has a few columns of voxels along z, its lanes are neighbours in them. View by view, for
// each column: the lanes sum the pixels of 32 detector rows at a time over the detector columns
// that the voxels are seen in; then each lane takes for its voxels, out of shared memory, the few
// of these sums that lie within their rectangles. Projections are turned before, so that what a
// warp loads lies side by side.
#include <cmath>
#include <type_traits>

#include "kernels/cuda/projectors/separable_footprint/footprint_column_gather.h"
#include "kernels/cuda/projectors/separable_footprint/turned_views.h"

namespace isocenter::cuda {
namespace {

constexpr int kLanes = 32;
constexpr int kTileX = 8;  // columns of voxels of a block along x: 32 bytes of the volume

// How much a warp takes on.
template <int warps, int columns, int voxels, int chunks, int shares>
struct Plan {
  static constexpr int kWarps = warps;      // of a block
  static constexpr int kColumns = columns;  // of voxels, of a warp
  static constexpr int kVoxels = voxels;    // of a lane, in one column
  static constexpr int kChunks = chunks;    // of 32 detector rows, that one column is seen in
  static constexpr int kShares = shares;    // detector columns that one column is seen in
  static constexpr int kTileY = kWarps * kColumns / kTileX;
  static constexpr int kTileZ = kLanes * kVoxels;
  static constexpr int kTile = kTileX * kTileY;            // columns of voxels of a block
  static constexpr int kViews = kLanes / kColumns;         // whose columns are found at once
  static constexpr int kRows = kLanes * kChunks + kLanes;  // of shared memory, of a warp
};

// A column of voxels in a view. Rows of the detector count from the first that is loaded, pixel r
// from r to r + 1.
template <int kShares>
struct alignas(16) SeenColumn {
  float share[kShares];     // of detector columns; times all that the column's voxels share
  float low, step, length;  // where the first voxel begins, and each further one; of each
  float edge;               // rows end here
  float across, depth;      // mm from the source: squared, along x and y; along z, first voxel
  int from;                 // first pixel, from the view's
  short columns, chunks;    // that are loaded; no columns: not seen
};

TurnedLayout LayoutOf(const Shape3& stack) { return {TurnedPitch(stack, 0), 0}; }

// The column of voxels from (x, y, z) upwards, counted from the grid's middle.
template <class P>
__device__ void See(const FootprintView<float>& g, float x, float y, float z, const Extent& e,
                    int pitch, SeenColumn<P::kShares>& to) {
  const Seen<float> first = SeenAt(g, x, y, z);
  const Trapezoid<float> trapezoid = TrapezoidOf(g, first);
  const float middle_u = 0.5f * (e.columns - 1), middle_v = 0.5f * (e.rows - 1);
  const int first_u = static_cast<int>(fmaxf(ceilf(trapezoid.u0 + middle_u - 0.5f), 0.f));
  const int last_u = static_cast<int>(
      fminf(floorf(trapezoid.u3 + middle_u + 0.5f), static_cast<float>(e.columns - 1)));
  const float step = 2 * g.half_a_v * first.r, length = fabsf(step);
  const float low = first.v - 0.5f * length + (middle_v + 0.5f);
  const float end = fmaf(P::kTileZ - 1, step, low);
  const float least = fminf(low, end), most = fmaxf(low, end) + length;
  to.columns = 0;
  if (!(trapezoid.area * length > 0) || first_u > last_u || !(most > 0 && least < e.rows)) return;

  const int first_chunk = static_cast<int>(fmaxf(least, 0.f)) / kLanes;
  const int last_chunk = static_cast<int>(fminf(most, static_cast<float>(e.rows - 1))) / kLanes;
  const float before = static_cast<float>(first_chunk * kLanes);
  to.columns = static_cast<short>(min(last_u - first_u + 1, P::kShares));
  to.chunks = static_cast<short>(min(last_chunk - first_chunk + 1, P::kChunks));
  to.from = first_u * pitch + first_chunk * kLanes;
  to.low = low - before;
  to.step = step;
  to.length = length;
  to.edge = fminf(e.rows - before, static_cast<float>(to.chunks * kLanes));
  const float dx = fmaf(x, g.spacing[0], -g.source[0]), dy = fmaf(y, g.spacing[1], -g.source[1]);
  to.across = fmaf(dx, dx, dy * dy);
  to.depth = fmaf(z, g.spacing[2], -g.source[2]);
  const float amount = g.mass * (first.r * first.r * first.r) * Reciprocal(trapezoid.area * length);
  const float from_u = first_u - middle_u - 0.5f;
  float below = AreaUpTo(trapezoid, from_u);
#pragma unroll
  for (int j = 0; j < P::kShares; ++j) {
    const float above = AreaUpTo(trapezoid, from_u + (j + 1));
    to.share[j] = amount * (above - below);
    below = above;
  }
}

// rows[r] = Σ share · pixel for kChunks times 32 rows, of which a lane has each 32nd.
template <int kChunks, int kShares>
__device__ void SumColumns(const SeenColumn<kShares>& seen, const float* pixels, int pitch,
                           float* rows) {
  float sum[kChunks] = {};
#pragma unroll 2
  for (int j = 0; j < seen.columns; ++j, pixels += pitch) {
    const float share = seen.share[j];
#pragma unroll
    for (int m = 0; m < kChunks; ++m) sum[m] = fmaf(share, __ldg(pixels + m * kLanes), sum[m]);
  }
#pragma unroll
  for (int m = 0; m < kChunks; ++m) rows[m * kLanes] = sum[m];
}

template <class P>
__device__ void SumColumns(const SeenColumn<P::kShares>& seen, const float* pixels, int pitch,
                           float* rows) {
  constexpr int kMost = 8;  // chunks at a time
  static_assert(P::kChunks % kMost == 0);
#pragma unroll
  for (int done = 0; done < P::kChunks; done += kMost) {
    const float* const from = pixels + done * kLanes;
    float* const to = rows + done * kLanes;
    switch (min(seen.chunks - done, kMost)) {
      case 1:
        SumColumns<1>(seen, from, pitch, to);
        break;
      case 2:
        SumColumns<2>(seen, from, pitch, to);
        break;
      case 3:
        SumColumns<3>(seen, from, pitch, to);
        break;
      case 4:
        SumColumns<4>(seen, from, pitch, to);
        break;
      case 5:
        SumColumns<5>(seen, from, pitch, to);
        break;
      case 6:
        SumColumns<6>(seen, from, pitch, to);
        break;
      case 7:
        SumColumns<7>(seen, from, pitch, to);
        break;
      case 8:
        SumColumns<8>(seen, from, pitch, to);
        break;
      default:
        break;
    }
  }
}

// Adds to each voxel of the column, of which a lane has each 32nd, the sums of its rectangle.
template <int kVoxels, int kShares>
__device__ void AddVoxels(const SeenColumn<kShares>& seen, const float* rows, int lane,
                          float spacing, float (&sum)[kVoxels]) {
  constexpr int kAtOnce = 4;  // rows
  const int most = static_cast<int>(ceilf(seen.length)) + 1;
#pragma unroll
  for (int i = 0; i < kVoxels; ++i) {
    const float k = lane + kLanes * i, begin = fmaf(k, seen.step, seen.low);
    const float low = fminf(fmaxf(begin, 0.f), seen.edge);
    const float high = fminf(fmaxf(begin + seen.length, 0.f), seen.edge);
    // 2^23 + n has the bits of 2^23 plus n.
    const float bits = __fadd_rd(low, 0x1p23f), first = bits - 0x1p23f;
    const float* row = rows + (__float_as_int(bits) - 0x4B000000);
    const float reach = high - first;
    float part = (__saturatef(reach) - (low - first)) * row[0];
#pragma unroll
    for (int t = 1; t < kAtOnce; ++t) part = fmaf(__saturatef(reach - t), row[t], part);
    for (int t = kAtOnce; t < most; ++t) part = fmaf(__saturatef(reach - t), row[t], part);
    const float dz = fmaf(k, spacing, seen.depth);
    sum[i] = fmaf(RootOf(fmaf(dz, dz, seen.across)), part, sum[i]);
  }
}

template <class P>
struct BlockMemory {
  FootprintView<float> views[kMaxViews];
  union {
    struct {
      SeenColumn<P::kShares> seen[P::kWarps][P::kColumns][P::kViews];
      float rows[P::kWarps][P::kRows];
    };
    float volume[P::kTileZ][P::kTile + 1];
  };
};

// Between the volume and the block's copy of its tile.
template <class P, class Move>
__device__ void ForTile(const Extent& e, Move move) {
  for (int i = threadIdx.x; i < P::kTileZ * P::kTile; i += P::kWarps * kLanes) {
    const int column = i % P::kTile, k = i / P::kTile;
    const int x = blockIdx.x * kTileX + column % kTileX;
    const int y = blockIdx.y * P::kTileY + column / kTileX, z = blockIdx.z * P::kTileZ + k;
    if (x < e.nx && y < e.ny && z < e.nz) {
      move((static_cast<int64_t>(z) * e.ny + y) * e.nx + x, k, column);
    }
  }
}

// Calls move(value of the block's volume, sum) for each sum of a thread.
template <class P, class Move>
__device__ __forceinline__ void ForSums(BlockMemory<P>& block,
                                        float (&sum)[P::kColumns][P::kVoxels], Move move) {
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
#pragma unroll
  for (int c = 0; c < P::kColumns; ++c) {
#pragma unroll
    for (int i = 0; i < P::kVoxels; ++i) {
      move(block.volume[lane + kLanes * i][warp * P::kColumns + c], sum[c][i]);
    }
  }
}

template <class P, int kBlocks>
__global__ __launch_bounds__(P::kWarps* kLanes, kBlocks) void ColumnGatherKernel(
    const __grid_constant__ FootprintViews<float> views, int count, const float* turned, int pitch,
    Extent e, float* volume) {
  extern __shared__ char memory[];
  BlockMemory<P>& block = *reinterpret_cast<BlockMemory<P>*>(memory);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  // The sum goes on from the volume's value, so that it does not depend on how views are divided.
  ForTile<P>(e,
             [&](int64_t at, int k, int column) { block.volume[k][column] = __ldcs(volume + at); });
  static_assert(std::is_trivially_copyable_v<FootprintView<float>>);
  constexpr int kWords = sizeof(FootprintView<float>) / sizeof(float);
  for (int i = threadIdx.x; i < count * kWords; i += P::kWarps * kLanes) {
    reinterpret_cast<float*>(block.views)[i] = reinterpret_cast<const float*>(views.view)[i];
  }
  __syncthreads();
  float sum[P::kColumns][P::kVoxels];
  ForSums(block, sum, [](float value, float& own) { own = value; });
  __syncthreads();
  // Sums of rows that a voxel does not see have no weight; they must be numbers.
  float* const rows = block.rows[warp];
  for (int i = lane; i < P::kRows; i += kLanes) rows[i] = 0;

  const int own = warp * P::kColumns + lane / P::kViews;  // the column that a lane finds
  const int x = blockIdx.x * kTileX + own % kTileX, y = blockIdx.y * P::kTileY + own / kTileX;
  const float from_x = x - 0.5f * (e.nx - 1), from_y = y - 0.5f * (e.ny - 1);
  const float from_z = static_cast<int>(blockIdx.z * P::kTileZ) - 0.5f * (e.nz - 1);
  const float spacing = views.view[0].spacing[2];
  const int64_t view_size = static_cast<int64_t>(pitch) * e.columns;
  for (int begin = 0; begin < count; begin += P::kViews) {
    __syncthreads();  // the block's warps look at the same pixels
    const int found = begin + lane % P::kViews;
    SeenColumn<P::kShares>& to = block.seen[warp][lane / P::kViews][lane % P::kViews];
    to.columns = 0;
    if (found < count && x < e.nx && y < e.ny) {
      See<P>(block.views[found], from_x, from_y, from_z, e, pitch, to);
    }
    __syncwarp();
    for (int i = 0; i < min(P::kViews, count - begin); ++i, turned += view_size) {
#pragma unroll
      for (int c = 0; c < P::kColumns; ++c) {
        const SeenColumn<P::kShares>& seen = block.seen[warp][c][i];
        if (seen.columns == 0) continue;
        SumColumns<P>(seen, turned + seen.from + lane, pitch, rows + lane);
        __syncwarp();
        AddVoxels(seen, rows, lane, spacing, sum[c]);
        __syncwarp();
      }
    }
  }
  __syncthreads();
  ForSums(block, sum, [](float& value, float own) { value = own; });
  __syncthreads();
  ForTile<P>(e,
             [&](int64_t at, int k, int column) { __stcs(volume + at, block.volume[k][column]); });
}

// Whether a column of voxels is seen in no more pixels than the plan has room for.
template <class P>
bool HasRoom(const FootprintView<float>& view, const VolumeGrid& grid, const Shape3& stack) {
  const auto at = [&](int row, int axis) { return std::abs(view.m[4 * row + axis]); };
  const float least_depth = view.m[11] - 0.5f * (at(2, 0) * grid.nx + at(2, 1) * grid.ny);
  if (!(least_depth > 0)) return false;
  const float rows = P::kTileZ * at(1, 2) / least_depth;
  // A voxel's shadow is at most 2 (|b| + |c|) / w wide, b and c as in TrapezoidOf; they grow with
  // |u|. Columns that are seen from further out do not reach the detector.
  const float most_u = 0.5f * static_cast<float>(stack.fast) + P::kShares;
  const float width = (at(0, 0) + at(0, 1) + most_u * (at(2, 0) + at(2, 1))) / least_depth;
  return rows <= kLanes * (P::kChunks - 1) && width <= P::kShares - 2;
}

template <class P, int kBlocks>
absl::Status Launch(const FootprintViews<float>& views, int count, const float* turned, int pitch,
                    const VolumeGrid& grid, const Extent& extent, float* volume,
                    cudaStream_t stream) {
  const auto kernel = ColumnGatherKernel<P, kBlocks>;
  constexpr int kBytes = sizeof(BlockMemory<P>);
  ISO_RETURN_IF_CUDA_ERROR(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const dim3 blocks((grid.nx + kTileX - 1) / kTileX, (grid.ny + P::kTileY - 1) / P::kTileY,
                    (grid.nz + P::kTileZ - 1) / P::kTileZ);
  kernel<<<blocks, P::kWarps * kLanes, kBytes, stream>>>(views, count, turned, pitch, extent,
                                                         volume);
  return ToStatus(cudaGetLastError(), "ColumnGatherKernel");
}

using Usual = Plan<16, 4, 2, 8, 8>;
using Large = Plan<8, 4, 2, 16, 16>;  // of large voxels

}  // namespace

bool ColumnGatherServes(const ProjectionMatrix& centered, int axial, const VolumeGrid& grid,
                        const Shape3& stack) {
  return axial == 2 && IsUpright(centered, axial, grid, stack) &&
         HasRoom<Large>(FootprintViewOf<float>(centered, axial, grid), grid, stack);
}

int64_t ColumnGatherSize(const Shape3& stack, int64_t count) {
  return count * TurnedSize(stack, LayoutOf(stack));
}

absl::Status LaunchFootprintColumnGather(const FootprintViews<float>& views, int count,
                                         const float* projections, const VolumeGrid& grid,
                                         const Shape3& stack, float* turned, float* volume,
                                         cudaStream_t stream) {
  const TurnedLayout layout = LayoutOf(stack);
  ISO_RETURN_IF_ERROR(TurnViews(projections, count, stack, layout, turned, stream));
  bool usual = true;
  for (int i = 0; i < count; ++i) usual = usual && HasRoom<Usual>(views.view[i], grid, stack);
  const auto launch = usual ? Launch<Usual, 2> : Launch<Large, 2>;
  return launch(views, count, turned, layout.pitch, grid, ExtentOf(grid, stack), volume, stream);
}

}  // namespace isocenter::cuda
