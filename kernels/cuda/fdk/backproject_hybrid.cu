// Fast back-projection: float16 pixels in textures, and whatever units serve a geometry best.
//
// Where neighbouring voxels along z are less than two rows apart, one fetch of the texture unit
// serves two of them: it interpolates four channels at the rate of one, and the channels are four
// consecutive rows (HalfTexture::FillRows). The unit interpolates along u; between rows the
// samples are interpolated here, in float32.
//
// Where they are further apart, most samples come from shared memory, in float32
// (backproject_staged.cuh), and the rest from the texture unit, so that both work at once. What is
// too far apart for that takes one fetch of rows per voxel.
#include "kernels/cuda/device/half_pixels.h"
#include "kernels/cuda/fdk/backproject_staged.cuh"
#include "kernels/cuda/fdk/half_texture.h"
#include "kernels/cuda/fdk/methods.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 16;
constexpr int kTextured = 6;  // of the kStagedDepth voxels of a run
// Pixels of u along z, from voxel to voxel. Pairs take u from between their voxels, which is wrong
// by half as much for each.
constexpr float kMostDrift = 0.008f;

__global__ __launch_bounds__(kThreads, 4) void RowsKernel(const __grid_constant__ Matrices matrices,
                                                          int views, cudaTextureObject_t texture,
                                                          const float* projections, Extent e,
                                                          float* volume) {
  __shared__ SharedMatrices shared;
  const int x0 = blockIdx.x * kBlockX, y0 = blockIdx.y * kBlockY, z0 = blockIdx.z * kDepth;
  const int2 column = ColumnOfThread();
  const int x = x0 + column.x, y = y0 + column.y, lane = threadIdx.x % 32;
  Load(matrices, views, shared);
  __syncthreads();
  bool touches = false, in_front = false, paired = false, apart = false;
  if (lane < views) {
    const int2 warp = ColumnOfWarp();
    const Footprint own = FootprintOf<kWarpX, kWarpY, kDepth>(shared.m[lane], x0 + warp.x,
                                                              y0 + warp.y, z0, e, kFastBend);
    touches = own.touches;
    in_front = own.in_front;
    paired = own.straight && own.dv_least >= 0 && own.dv_most < 1.99f && own.du_most < kMostDrift;
    apart = own.dv_least > 1.001f;  // the margin covers the rounding of dv
  }
  const unsigned touching = __ballot_sync(0xffffffffu, touches);
  const unsigned all_in_front = __ballot_sync(0xffffffffu, in_front);
  const unsigned all_paired = __ballot_sync(0xffffffffu, paired);
  const unsigned all_apart = __ballot_sync(0xffffffffu, apart);
  if (touching == 0) return;

  float sum[kDepth];
  LoadRun(volume, e, x, y, z0, sum);
  // Texel j holds rows from j - kRowsAbove and has its centre at j + 0.5. v counts from there;
  // floor(v) + 0.5 is the texel's centre, by way of the float32 numbers around 2^23.
  constexpr float kRow = HalfTexture::kRowsAbove + 0.5f;
  const auto centre = [](float v) { return __fadd_rd(v, 0x1p23f - 0.5f) - (0x1p23f - 0.5f); };
  for (unsigned rest = touching; rest != 0; rest &= rest - 1) {
    const int i = __ffs(rest) - 1;
    const float* const m = matrices.m[i];
    const float uw = m[0] * x + m[1] * y + m[2] * z0 + m[3];
    const float vw = m[4] * x + m[5] * y + m[6] * z0 + m[7];
    const float w = m[8] * x + m[9] * y + m[10] * z0 + m[11];
    if ((all_paired >> i) & 1) {
      constexpr float kSteps = kDepth - 1;
      const float near = Reciprocal(w), far = Reciprocal(fmaf(kSteps, m[10], w));
      const float last_weight = far * far * (1 / kHalfScale);
      const float u = fmaf(uw, near, 0.5f), v = fmaf(vw, near, kRow),
                  weight = near * near * (1 / kHalfScale);
      const float du = (fmaf(fmaf(kSteps, m[2], uw), far, 0.5f) - u) * (1 / kSteps);
      const float dv = (fmaf(fmaf(kSteps, m[6], vw), far, kRow) - v) * (1 / kSteps);
      const float dweight = (last_weight - weight) * (1 / kSteps);
      const auto add = [&](auto a_row_apart) {
#pragma unroll
        for (int k = 0; k < kDepth; k += 2) {
          const float v_first = fmaf(k, dv, v), texel = centre(v_first);
          const float4 rows = tex2DLayered<float4>(texture, fmaf(k + 0.5f, du, u), texel, i);
          // The first voxel lies between the first two rows, the second between any two, but not
          // the first where voxels are a row apart at least.
          const float d = v_first - texel, slope = rows.y - rows.x;
          const float one = fmaf(d, slope, rows.x);
          float other =
              decltype(a_row_apart)::value ? rows.y : fmaf(__saturatef(d + dv), slope, rows.x);
          other = fmaf(__saturatef(d + (dv - 1)), rows.z - rows.y, other);
          other = fmaf(__saturatef(d + (dv - 2)), rows.w - rows.z, other);
          const float pair_weight = fmaf(k + 0.5f, dweight, weight);
          sum[k] = fmaf(pair_weight, one, sum[k]);
          sum[k + 1] = fmaf(pair_weight, other, sum[k + 1]);
        }
      };
      if ((all_apart >> i) & 1) {
        add(std::true_type());
      } else {
        add(std::false_type());
      }
    } else if ((all_in_front >> i) & 1) {
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const float r = Reciprocal(fmaf(k, m[10], w));
        const float v = fmaf(fmaf(k, m[6], vw), r, kRow), texel = centre(v);
        const float4 rows =
            tex2DLayered<float4>(texture, fmaf(fmaf(k, m[2], uw), r, 0.5f), texel, i);
        sum[k] = fmaf(r * r * (1 / kHalfScale), fmaf(v - texel, rows.y - rows.x, rows.x), sum[k]);
      }
    } else {
      AddAnywhere(matrices.exact[i], projections + static_cast<int64_t>(i) * e.rows * e.columns, e,
                  x, y, z0, sum);
    }
  }
  StoreRun(sum, e, x, y, z0, volume);
}

class BackprojectHybrid final : public ops::Backproject {
 public:
  BackprojectHybrid(CudaSession& session, bool copies_tiles)
      : session_(session), copies_tiles_(copies_tiles) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> world, const ops::ProjectionStack& filtered,
                     ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const Extent extent = ExtentOf(grid, stack->shape());
    for (size_t first = 0; first < world.size();) {
      const bool rows = ServedByRows(world[first], grid);
      const int views = ViewsAlike(world.subspan(first), [&](const ProjectionMatrix& view) {
        return ServedByRows(view, grid);
      });
      const auto add = rows ? &BackprojectHybrid::AddByRows : &BackprojectHybrid::AddByTiles;
      ISO_RETURN_IF_ERROR(
          (this->*add)(world.subspan(first, views),
                       stack->data() + static_cast<int64_t>(first) * extent.rows * extent.columns,
                       CapacityOf(*stack), extent, *target));
      first += views;
    }
    return absl::OkStatus();
  }

 private:
  // Rows from voxel to voxel along z at the isocentre, where w is 1.
  static double RowsPerVoxel(const ProjectionMatrix& world, const VolumeGrid& grid) {
    const ProjectionMatrix indexed = ToVoxelIndices(world, grid);
    return indexed.m[6] - world.m[7] * indexed.m[10];
  }

  bool ServedByRows(const ProjectionMatrix& world, const VolumeGrid& grid) const {
    // Nearer to the source it is up to a third more; a few voxels there may exceed 2.
    return !copies_tiles_ || std::abs(RowsPerVoxel(world, grid)) < 1.6 ||
           PixelsPerVoxel(world, grid) >= kMostPixelsPerVoxel;
  }

  // Of the textures.
  static Shape3 CapacityOf(const Stack& stack) {
    Shape3 capacity = stack.capacity();
    capacity.slow = std::min<int64_t>(capacity.slow, kMaxViews);
    return capacity;
  }

  absl::Status AddByRows(std::span<const ProjectionMatrix> world, const float* projections,
                         const Shape3& capacity, const Extent& e, Volume& volume) {
    const int views = static_cast<int>(world.size());
    Matrices matrices = MakeMatrices(world, volume.grid());
    uint32_t flipped = 0;  // views are turned so that v grows with z
    Trajectory turned(world.begin(), world.end());
    for (int i = 0; i < views; ++i) {
      if (RowsPerVoxel(world[i], volume.grid()) >= 0) continue;
      flipped |= 1u << i;
      const double* const m = matrices.exact[i];
      for (int c = 0; c < 4; ++c) {
        matrices.m[i][4 + c] = static_cast<float>((e.rows - 1) * m[8 + c] - m[4 + c]);
        turned[i].m[4 + c] = (e.rows - 1) * world[i](2, c) - world[i](1, c);
      }
    }
    const RowRange seen = RowsSeen(turned, volume.grid(), e.rows);
    ISO_RETURN_IF_ERROR(
        rows_.FillRows(projections, views, e.rows, seen, capacity, flipped, session_));
    RowsKernel<<<BlocksOf<kDepth>(volume.grid()), kThreads, 0, session_.stream()>>>(
        matrices, views, rows_.texture(), projections, e, volume.data());
    return ToStatus(cudaGetLastError(), "RowsKernel");
  }

  absl::Status AddByTiles(std::span<const ProjectionMatrix> world, const float* projections,
                          const Shape3& capacity, const Extent& e, Volume& volume) {
    const int views = static_cast<int>(world.size());
    ISO_ASSIGN_OR_RETURN(const TiledViews tiled, source_.Prepare(projections, views, e, session_));
    const RowRange seen = RowsSeen(world, volume.grid(), e.rows);
    ISO_RETURN_IF_ERROR(pixels_.FillPixels(projections, views, e.rows, seen, capacity, session_));
    return LaunchStaged<CoarseTile, kTextured>(
        MakeMatrices(world, volume.grid()), FeldkampWeights{}, views, tiled, pixels_.texture(),
        projections, volume.grid(), e, volume.data(), session_.stream());
  }

  CudaSession& session_;
  const bool copies_tiles_;
  HalfTexture rows_, pixels_;
  TileSource source_;
};

}  // namespace

int64_t BackprojectHybridBytes(const ops::Extents& extents) {
  const Shape3& stack = extents.stack;
  const int64_t views = std::min<int64_t>(stack.slow, kMaxViews);
  return HalfTexture::RowsBytes(views, stack.middle, stack.fast) +
         HalfTexture::PixelsBytes(views, stack.middle, stack.fast) +
         TileSource::Bytes(views, stack.middle, stack.fast);
}

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectHybrid(CudaSession& session) {
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(const bool copies_tiles, CopiesTiles());
  return std::make_unique<BackprojectHybrid>(session, copies_tiles);
}

}  // namespace isocenter::cuda
