// A warp has columns of voxels along z, one after the other; its lanes are neighbours in them.
// What all voxels of a column share in a view, its trapezoid above all, a lane finds once; then
// each lane moves and scales it to its own voxels, and sums the pixels that these are seen in: of
// each detector column two times four rows, which lie side by side in turned views. Each voxel's
// sum is its own thread's, view by view.
#include <cmath>
#include <type_traits>

#include "kernels/cuda/projectors/separable_footprint/footprint_leaning_gather.h"
#include "kernels/cuda/projectors/separable_footprint/turned_views.h"

namespace isocenter::cuda {
namespace {

constexpr int kLanes = 32;
constexpr int kWarps = 8;                                         // of a block
constexpr int kBlocks = 3;                                        // of a multiprocessor
constexpr int kVoxels = 2;                                        // of a lane, in one column
constexpr int kTileX = 8, kTileY = 8, kTileZ = kLanes * kVoxels;  // of a block
constexpr int kTile = kTileX * kTileY;
constexpr int kGroup = 4;        // rows of pixels that are loaded at once
constexpr int kMostColumns = 8;  // of the detector, that a voxel is seen in
// Zeros that are loaded around the detector.
constexpr int kBeyond = 2 * kGroup;   // rows, beyond the last
constexpr int kAside = kMostColumns;  // columns, at either side
// Of turned views of detectors with 500 to 1,048 rows: where the compiler knows how far columns are
// apart, one address serves a voxel.
constexpr int kUsualPitch = 1056, kUsualRows = 500;
static_assert(kTile % kWarps == 0);

// t = clamp(per·u + from, 0, 1) goes from 0 to 1 over a piece of a trapezoid that holds `area`.
struct Piece {
  float per, from, area;
};

// A trapezoid around the u of the voxel whose it is.
struct Shape {
  Piece rise, level, fall;
  float per_depth;  // 1 / w of that voxel
  float left;       // from u to its left end, times w
  float per_area;
};

// A column of voxels in a view. Numerators are those of the grid's middle.
struct alignas(16) SeenColumn {
  Shape shape;  // of the voxel in the middle; no per_area: each needs one of its own
  float u, v, w;
  float amount;        // what all heights share
  float across;        // squared distance from the source along x and y, mm²
  float x, y;          // from the grid's middle
  short columns;       // of the detector, at most, that a voxel is seen in. 0: none is seen
  bool seen[kVoxels];  // whether rows see some of each 32 voxels
};

__device__ Shape ShapeOf(const Trapezoid<float>& of, const Seen<float>& at) {
  constexpr float kLeast = 1e-18f;
  const float rise = of.u1 - of.u0, fall = of.u3 - of.u2;
  Shape to;
  to.level.area = fmaxf(of.u2 - of.u1, kLeast);
  to.level.per = Reciprocal(to.level.area);
  to.level.from = (at.u - of.u1) * to.level.per;
  to.rise.per = 2 * of.per_rise;
  to.rise.from = (at.u - of.u0) * to.rise.per;
  to.rise.area = rise * rise * of.per_rise;
  // Falls from the right to the left.
  to.fall.per = -2 * of.per_fall;
  to.fall.from = (at.u - of.u3) * to.fall.per;
  to.fall.area = fall * fall * of.per_fall;
  to.per_depth = at.r;
  to.left = (of.u0 - at.u) * at.w;
  to.per_area = of.area > 0 ? Reciprocal(of.area) : 0;
  return to;
}

// The column at (x, y) of voxels from `first` to `last` along z, all from the grid's middle.
__device__ void See(const FootprintView<float>& g, float x, float y, float first, float last,
                    const Extent& e, SeenColumn& to) {
  const auto row = [&](int i) { return fmaf(g.m[i], x, fmaf(g.m[i + 1], y, g.m[i + 3])); };
  const float per_u = g.m[2], per_v = g.m[6], per_w = g.m[10];
  to.x = x, to.y = y;
  to.u = row(0), to.v = row(4), to.w = row(8);
  to.columns = 0;
  const auto edge = [&](float z) {
    return fmaf(per_v, z, to.v) * Reciprocal(fmaf(per_w, z, to.w)) + 0.5f * e.rows;
  };
  const float alike = fabsf(fmaf(per_v, to.w, -per_w * to.v));  // w² dv along the column, the same
  float begin = edge(first - 0.5f);
  bool some = false;
#pragma unroll
  for (int i = 0; i < kVoxels; ++i) {
    const float end = edge(fminf(first + (kLanes * (i + 1) - 0.5f), last + 0.5f));
    // Rounding moves edges by less than a row.
    to.seen[i] = fmaxf(begin, end) > -1 && fminf(begin, end) < e.rows + 1;
    some = some || to.seen[i];
    begin = end;
  }
  if (!(alike > 0 && some)) return;
  const float half = 0.5f * (last - first), middle = 0.5f * (first + last);
  const Seen<float> seen = SeenAt(g, x, y, middle);
  const Trapezoid<float> trapezoid = TrapezoidOf(g, seen);
  // As of footprint_leaning.cu: along the column the trapezoid moves, and scales with 1 / w; edges
  // that are elsewhere by more than kMost pixels at an end need voxels' own trapezoids.
  const float turned = (fabsf(g.half_b_w) + fabsf(g.half_c_w)) * seen.r;
  const float moved = half * fabsf(fmaf(-seen.u, per_w, per_u)) * seen.r;
  const float scaled = half * fabsf(per_w) * seen.r;
  const float width = trapezoid.u3 - trapezoid.u0;
  constexpr float kMostDeeper = 0.25f;  // beyond it `moved` says little of the ends
  const float further = 2 * moved + 1, edge_u = 0.5f * e.columns;
  if (scaled < kMostDeeper && trapezoid.area > 0 &&
      (trapezoid.u3 + further < -edge_u || trapezoid.u0 - further > edge_u)) {
    return;
  }
  constexpr float kMost = 3e-4f, kMostScaled = 0.01f, kMostTurned = 0.1f;
  const bool same = turned * (moved + scaled * width) < kMost && turned < kMostTurned &&
                    scaled < kMostScaled && trapezoid.area > 0;
  // A voxel's own may be wider by `turned` of what moves.
  const float most_width =
      fmaf(width, 1 + 2 * scaled, 4 * turned * (moved + scaled * width)) + 0.01f;
  to.columns = scaled < kMostDeeper && trapezoid.area > 0
                   ? min(static_cast<int>(ceilf(most_width)) + 1, kMostColumns)
                   : kMostColumns;
  to.shape = ShapeOf(trapezoid, seen);
  if (!same) to.shape.per_area = 0;
  const float dx = fmaf(x, g.spacing[0], -g.source[0]), dy = fmaf(y, g.spacing[1], -g.source[1]);
  to.across = fmaf(dx, dx, dy * dy);
  // A rectangle is alike / (w² - per_w² / 4) long.
  const float bent = 0.5f * per_w * seen.r;
  to.amount = g.mass * Reciprocal(alike) * fmaf(-bent, bent, 1.f);
}

// 2^23 + n has the bits of 2^23 plus n.
__device__ int WholeOf(float bits) { return __float_as_int(bits) - 0x4B000000; }

// h_j Σ F G y of the voxel at z from the grid's middle, which is seen in kColumns columns at most.
template <int kColumns, int kPitch>
__device__ __forceinline__ float GatherVoxel(const FootprintView<float>& g, const SeenColumn& c,
                                             const Shape& shape, float z, const Extent& e,
                                             int any_pitch, const float* view) {
  const int pitch = kPitch > 0 ? kPitch : any_pitch;
  const float w = fmaf(g.m[10], z, c.w), r = Reciprocal(w);
  // Along v: of eight rows from a multiple of four on.
  const float v = fmaf(g.m[6], z, c.v) * r;
  const float half = fmaf(-v, g.half_a_w, g.half_a_v) * r, bent = g.half_a_w * r;
  const float centre = fmaf(-half, bent, v + 0.5f * e.rows), most = static_cast<float>(e.rows);
  const float low = fminf(fmaxf(centre - fabsf(half), 0.f), most);
  const float high = fminf(fmaxf(centre + fabsf(half), 0.f), most);
  // Multiples of four are what float32 has from 2^25 on.
  const float group_bits = __fadd_rd(low, 0x1p25f), group = group_bits - 0x1p25f;
  const int first_row = (__float_as_int(group_bits) - 0x4C000000) * kGroup;
  const float begin = low - group, end = high - group;
  float overlap[2 * kGroup];
#pragma unroll
  for (int i = 0; i < 2 * kGroup; ++i) {
    overlap[i] = i < kGroup ? __saturatef(end - i) - __saturatef(begin - i) : __saturatef(end - i);
  }
  // Along u, edges of pixels counted from the detector's left end.
  const float u = fmaf(fmaf(g.m[2], z, c.u), r, 0.5f * e.columns);
  const float left = fminf(fmaxf(fmaf(shape.left, r, u), static_cast<float>(-kAside)),
                           static_cast<float>(e.columns));
  const float column_bits = __fadd_rd(left, 0x1p23f + kAside);
  const int first_column = WholeOf(column_bits);  // in turned views
  const float scale = w * shape.per_depth;
  const float from = ((column_bits - (0x1p23f + kAside)) - u) * scale;
  const float* pixels = view + (first_column * pitch + first_row);
  float sum = 0, below = -shape.fall.area;
#pragma unroll
  for (int i = 0; i < kColumns; ++i, pixels += pitch) {
    float above = shape.rise.area + shape.level.area;
    if (i + 1 < kColumns) {
      const float at = fmaf(static_cast<float>(i + 1), scale, from);
      const float rise = __saturatef(fmaf(at, shape.rise.per, shape.rise.from));
      const float level = __saturatef(fmaf(at, shape.level.per, shape.level.from));
      const float fall = __saturatef(fmaf(at, shape.fall.per, shape.fall.from));
      above = fmaf(rise * rise, shape.rise.area,
                   fmaf(-fall * fall, shape.fall.area, level * shape.level.area));
    }
    const float4 one = __ldg(reinterpret_cast<const float4*>(pixels));
    const float4 two = __ldg(reinterpret_cast<const float4*>(pixels) + 1);
    float column = overlap[0] * one.x;
    column = fmaf(overlap[1], one.y, column);
    column = fmaf(overlap[2], one.z, column);
    column = fmaf(overlap[3], one.w, column);
    column = fmaf(overlap[4], two.x, column);
    column = fmaf(overlap[5], two.y, column);
    column = fmaf(overlap[6], two.z, column);
    column = fmaf(overlap[7], two.w, column);
    sum = fmaf(above - below, column, sum);
    below = above;
  }
  const float along = fmaf(z, g.spacing[2], -g.source[2]);
  return c.amount * shape.per_area * r * RootOf(fmaf(along, along, c.across)) * sum;
}

template <int kColumns, int kPitch>
__device__ __forceinline__ void GatherColumn(const FootprintView<float>& g, const SeenColumn& c,
                                             float z, const Extent& e, int pitch, const float* view,
                                             float (&sum)[kVoxels]) {
  static_assert(kVoxels == 2);
  const bool same = c.shape.per_area > 0;
  if (same && c.seen[0] && c.seen[1]) {
    const Shape shape = c.shape;  // in registers
#pragma unroll
    for (int i = 0; i < kVoxels; ++i) {
      sum[i] += GatherVoxel<kColumns, kPitch>(g, c, shape, z + kLanes * i, e, pitch, view);
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < kVoxels; ++i) {
    if (!c.seen[i]) continue;
    const float own_z = z + kLanes * i;
    Shape shape = c.shape;
    if (!same) {
      const Seen<float> seen = SeenAt(g, c.x, c.y, own_z);
      shape = ShapeOf(TrapezoidOf(g, seen), seen);
    }
    const float part = GatherVoxel<kColumns, kPitch>(g, c, shape, own_z, e, pitch, view);
    if (i == 0)
      sum[0] += part;
    else
      sum[1] += part;
  }
}

struct BlockMemory {
  FootprintView<float> views[kMaxViews];
  SeenColumn seen[kWarps][kMaxViews];
  float volume[kTileZ][kTile + 1];
};

// Between the volume and the block's copy of its tile.
template <class Move>
__device__ void ForTile(const Extent& e, Move move) {
  for (int i = threadIdx.x; i < kTileZ * kTile; i += kWarps * kLanes) {
    const int column = i % kTile, k = i / kTile;
    const int x = blockIdx.x * kTileX + column % kTileX;
    const int y = blockIdx.y * kTileY + column / kTileX, z = blockIdx.z * kTileZ + k;
    if (x < e.nx && y < e.ny && z < e.nz) {
      move((static_cast<int64_t>(z) * e.ny + y) * e.nx + x, k, column);
    }
  }
}

// kPitch: 0 if it is not known.
template <int kPitch>
__global__ __launch_bounds__(kWarps* kLanes, kBlocks) void LeaningGatherKernel(
    const __grid_constant__ FootprintViews<float> views, int count, const float* turned, int pitch,
    Extent e, float* volume) {
  static_assert(kMaxViews == kLanes);
  extern __shared__ char memory[];
  BlockMemory& block = *reinterpret_cast<BlockMemory*>(memory);
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  // Sums go on from the volume's values, so that they do not depend on how views are divided.
  ForTile(e, [&](int64_t at, int k, int column) { block.volume[k][column] = __ldcs(volume + at); });
  static_assert(std::is_trivially_copyable_v<FootprintView<float>>);
  constexpr int kWords = sizeof(FootprintView<float>) / sizeof(float);
  for (int i = threadIdx.x; i < count * kWords; i += kWarps * kLanes) {
    reinterpret_cast<float*>(block.views)[i] = reinterpret_cast<const float*>(views.view)[i];
  }
  __syncthreads();
  const int first = blockIdx.z * kTileZ, last = min(first + kTileZ, e.nz) - 1;
  const float middle = 0.5f * (e.nz - 1), z = first + lane - middle;
  const int64_t view_size = static_cast<int64_t>(pitch) * (e.columns + 2 * kAside);
  for (int column = warp; column < kTile; column += kWarps) {
    const int x = blockIdx.x * kTileX + column % kTileX;
    const int y = blockIdx.y * kTileY + column / kTileX;
    if (x >= e.nx || y >= e.ny) continue;
    if (lane < count) {
      See(block.views[lane], x - 0.5f * (e.nx - 1), y - 0.5f * (e.ny - 1), first - middle,
          last - middle, e, block.seen[warp][lane]);
    }
    __syncwarp();
    float sum[kVoxels];
#pragma unroll
    for (int i = 0; i < kVoxels; ++i) sum[i] = block.volume[lane + kLanes * i][column];
    const float* view = turned;
    for (int i = 0; i < count; ++i, view += view_size) {
      const SeenColumn& seen = block.seen[warp][i];
      const FootprintView<float>& g = views.view[i];
      switch (seen.columns) {
        case 0:
          break;
        case 1:
        case 2:
        case 3:
        case 4:
          GatherColumn<4, kPitch>(g, seen, z, e, pitch, view, sum);
          break;
        case 5:
          GatherColumn<5, kPitch>(g, seen, z, e, pitch, view, sum);
          break;
        case 6:
          GatherColumn<6, kPitch>(g, seen, z, e, pitch, view, sum);
          break;
        default:
          GatherColumn<kMostColumns, kPitch>(g, seen, z, e, pitch, view, sum);
      }
    }
#pragma unroll
    for (int i = 0; i < kVoxels; ++i) block.volume[lane + kLanes * i][column] = sum[i];
    __syncwarp();
  }
  __syncthreads();
  ForTile(e, [&](int64_t at, int k, int column) { __stcs(volume + at, block.volume[k][column]); });
}

TurnedLayout LayoutOf(const Shape3& stack) {
  const int pitch = TurnedPitch(stack, kBeyond);
  return {stack.middle >= kUsualRows && pitch <= kUsualPitch ? kUsualPitch : pitch, kAside};
}

}  // namespace

bool LeaningGatherServes(const ProjectionMatrix& centered, int axial, const VolumeGrid& grid,
                         const Shape3& stack) {
  if (axial != 2) return false;
  const auto at = [&](int row, int axis) { return std::abs(centered(row, axis)); };
  const double least_depth =
      centered(2, 3) - 0.5 * (at(2, 0) * grid.nx + at(2, 1) * grid.ny + at(2, 2) * grid.nz);
  if (!(least_depth > 0)) return false;
  // Of voxels that reach the detector: as far out as their own size.
  const double most_u = 0.5 * static_cast<double>(stack.fast) + kMostColumns;
  const double most_v = 0.5 * static_cast<double>(stack.middle) + kGroup;
  const double across = most_v * at(2, 2);
  // What v grows by per voxel is per_v - v per_w, over w.
  if (!(at(1, 2) - across > 0.25 * at(1, 2))) return false;
  const double bent = 0.5 * at(2, 2) / least_depth;
  // A voxel's shadow is at most 2 (|b| + |c|) / w wide, b and c as in TrapezoidOf.
  const double width = at(0, 0) + at(0, 1) + most_u * (at(2, 0) + at(2, 1));
  constexpr double kMargin = 0.05;
  return bent < 0.01 && at(1, 2) + across < (kGroup - kMargin) * least_depth &&
         width < (kMostColumns - 1 - kMargin) * (least_depth - 0.5 * (at(2, 0) + at(2, 1)));
}

int64_t LeaningGatherSize(const Shape3& stack, int64_t count) {
  return count * TurnedSize(stack, LayoutOf(stack));
}

absl::Status LaunchFootprintLeaningGather(const FootprintViews<float>& views, int count,
                                          const float* projections, const VolumeGrid& grid,
                                          const Shape3& stack, float* turned, float* volume,
                                          cudaStream_t stream) {
  const TurnedLayout layout = LayoutOf(stack);
  ISO_RETURN_IF_ERROR(TurnViews(projections, count, stack, layout, turned, stream));
  const auto kernel =
      layout.pitch == kUsualPitch ? LeaningGatherKernel<kUsualPitch> : LeaningGatherKernel<0>;
  ISO_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                sizeof(BlockMemory)));
  const dim3 blocks((grid.nx + kTileX - 1) / kTileX, (grid.ny + kTileY - 1) / kTileY,
                    (grid.nz + kTileZ - 1) / kTileZ);
  kernel<<<blocks, kWarps * kLanes, sizeof(BlockMemory), stream>>>(
      views, count, turned, layout.pitch, ExtentOf(grid, stack), volume);
  return ToStatus(cudaGetLastError(), "LeaningGatherKernel");
}

}  // namespace isocenter::cuda
