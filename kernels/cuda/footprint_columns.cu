// A warp has 32 neighbouring rows, twice, of a few columns of the detector. Plane by plane its
// lanes find the columns of voxels that reach these, with what each weighs in each detector column;
// then every lane sums a column of voxels along z for its own rows, once for all detector columns.
#include "kernels/cuda/footprint_columns.h"

namespace isocenter::cuda {
namespace {

constexpr int kWarps = 4;  // of a block: neighbours along u
#ifndef SFW
#define SFW 16
#define SFR 1
#endif
constexpr int kWide = SFW;               // columns of the detector of a warp
constexpr int kRuns = SFR;               // of 32 rows
constexpr int kBatch = 8;                // columns of voxels at a time
constexpr int kLanes = 32 / kBatch;      // that share one
constexpr int kShares = kWide / kLanes;  // detector columns of each of these

// A column of voxels as a warp sees it.
struct alignas(16) ColumnOfVoxels {
  float v;          // where its middle is seen
  float per_pixel;  // voxels along z
  float across;     // squared distance from the source in the (x, y) plane, mm²
};
struct Batch {
  alignas(16) float share[kBatch][kWide];
  ColumnOfVoxels column[kBatch];
};

// What a warp looks for in each plane: columns of voxels around slope·D, D the plane's distance
// from the source, within cone·|D| + reach.
struct Bounds {
  float slope, cone, reach;
  bool bounded;
};
__device__ Bounds BoundsOf(const ProjectedView<float>& g, float u, int plane) {
  const FootprintView<float>& f = g.footprint;
  const auto ray = [&](int axis) { return fmaf(u, g.per_column[axis], g.direction[axis]); };
  constexpr float kHalfRun = 0.5f * kWide;
  const float reach = fabsf(fmaf(-u, f.half_b_w, f.half_b_u)) +
                      fabsf(fmaf(-u, f.half_c_w, f.half_c_u)) + (kWide + 1) * g.half_depth;
  const float d = plane == 0 ? ray(0) : ray(1), per_d = 1 / d;
  const float turn = plane == 0 ? g.per_column[0] : g.per_column[1];
  const float slope = (plane == 0 ? ray(1) : ray(0)) * per_d;
  const float turn_across = plane == 0 ? g.per_column[1] : g.per_column[0];
  // Perspective within the run and the footprints, relative.
  const float bend =
      (kHalfRun + reach / g.least_depth) * fabsf(turn * per_d) + 2 * g.half_depth / g.least_depth;
  const float by_u = fabsf((turn_across - slope * turn) * per_d) / (1 - bend);
  constexpr float kMargin = 0.01f;
  return {slope, kHalfRun * by_u, fabsf(d) * reach * by_u + kMargin, bend < 0.5f};
}

// Σ G·|x_j - s| x_j over a column of voxels, for the pixel row at v; G in voxels along z. Of pixels
// up to a voxel long, which see two voxels at most.
__device__ float SumOfTwo(const ColumnOfVoxels& c, float v, const float* voxels, int nz,
                          float spacing, float source) {
  const float middle = 0.5f * (nz - 1);
  const float length = fabsf(c.per_pixel);
  const float low = fmaf(v - c.v, c.per_pixel, fmaf(-0.5f, length, middle));
  const float below = floorf(low + 0.5f);
  const int k = static_cast<int>(below);
  const float upper = fmaxf(low + length - (below + 0.5f), 0.f);
  const float dz = fmaf(below - middle, spacing, -source), next_dz = dz + spacing;
  const float x = static_cast<unsigned>(k) < nz ? __ldg(voxels + k) : 0;
  const float next_x = static_cast<unsigned>(k + 1) < nz ? __ldg(voxels + k + 1) : 0;
  return fmaf((length - upper) * RootOf(fmaf(dz, dz, c.across)), x,
              upper * RootOf(fmaf(next_dz, next_dz, c.across)) * next_x);
}

// The same for pixels of any length.
__device__ float SumAlongZ(const ColumnOfVoxels& c, float v, const float* voxels, int nz,
                           float spacing, float source) {
  const float middle = 0.5f * (nz - 1);
  const float centre = fmaf(v - c.v, c.per_pixel, middle), half = 0.5f * fabsf(c.per_pixel);
  const float low = centre - half, high = centre + half;
  const int first = static_cast<int>(fmaxf(ceilf(low - 0.5f), 0.f));
  const int last = static_cast<int>(fminf(floorf(high + 0.5f), static_cast<float>(nz - 1)));
  float sum = 0;
  for (int k = first; k <= last; ++k) {
    const float overlap = fmaxf(fminf(high, k + 0.5f) - fmaxf(low, k - 0.5f), 0.f);
    const float dz = fmaf(k - middle, spacing, -source);
    sum = fmaf(overlap * RootOf(fmaf(dz, dz, c.across)), __ldg(voxels + k), sum);
  }
  return sum;
}

__global__ __launch_bounds__(32 * kWarps) void ColumnsKernel(
    const __grid_constant__ ProjectedViews<float> views, int3 n, const float* volume, int rows,
    int columns, float* projections) {
  __shared__ Batch batches[kWarps];
  const ProjectedView<float>& g = views.view[blockIdx.z];
  const FootprintView<float>& f = g.footprint;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Batch& batch = batches[warp];
  const int first_u = (blockIdx.x * kWarps + warp) * kWide;
  const int first_row = blockIdx.y * (32 * kRuns) + lane;
  if (first_u >= columns) return;
  const float from_u = first_u - 0.5f * (columns - 1), from_v = first_row - 0.5f * (rows - 1);
  const float middle_u = from_u + 0.5f * (kWide - 1);
  const float dx = fmaf(middle_u, g.per_column[0], g.direction[0]);
  const float dy = fmaf(middle_u, g.per_column[1], g.direction[1]);
  const int plane = fabsf(dx) >= fabsf(dy) ? 0 : 1;
  const Bounds bounds = BoundsOf(g, middle_u, plane);
  const int n_plane = plane == 0 ? n.x : n.y, n_across = plane == 0 ? n.y : n.x;
  const float source_plane = plane == 0 ? g.source[0] : g.source[1];
  const float source_across = plane == 0 ? g.source[1] : g.source[0];
  const int64_t stride_plane = plane == 0 ? n.z : static_cast<int64_t>(n.z) * n.x;
  const int64_t stride_across = plane == 0 ? static_cast<int64_t>(n.z) * n.x : n.z;

  float sum[kRuns][kWide] = {};
  for (int i = 0; i < n_plane; ++i) {
    const float at_plane = i - 0.5f * (n_plane - 1), distance = at_plane - source_plane;
    const Span span = bounds.bounded
                          ? SpanAround(fmaf(distance, bounds.slope, source_across),
                                       fmaf(fabsf(distance), bounds.cone, bounds.reach), n_across)
                          : Span{0, n_across - 1};
    for (int first = span.first; first <= span.last; first += kBatch) {
      const int own = lane / kLanes, part = lane % kLanes * kShares;
      const float at_across = first + own - 0.5f * (n_across - 1);
      const float x = plane == 0 ? at_plane : at_across, y = plane == 0 ? at_across : at_plane;
      const Seen<float> seen = SeenAt(f, x, y, 0.f);
      const Trapezoid<float> trapezoid = TrapezoidOf(f, seen);
      // What is left of h_j where G is in voxels and |x_j - s| with the voxel.
      const bool reaches = first + own <= span.last && trapezoid.area > 0;
      const float amount =
          reaches ? f.mass * (seen.r * seen.r * seen.r) * Reciprocal(trapezoid.area) : 0;
      float below = AreaUpTo(trapezoid, from_u + part - 0.5f);
      bool any = false;
#pragma unroll
      for (int s = 0; s < kShares; ++s) {
        const float above = AreaUpTo(trapezoid, from_u + part + s + 0.5f);
        const float share = reaches ? amount * (above - below) : 0;
        batch.share[own][part + s] = share;
        any = any || share > 0;
        below = above;
      }
      if (part == 0) {
        const float mm_x = fmaf(x, f.spacing[0], -f.source[0]);
        const float mm_y = fmaf(y, f.spacing[1], -f.source[1]);
        batch.column[own] = {seen.v, seen.w / (2 * f.half_a_v), fmaf(mm_x, mm_x, mm_y * mm_y)};
      }
      const unsigned reaching = __ballot_sync(0xffffffffu, any);
      __syncwarp();
      const float* const voxels = volume + i * stride_plane + first * stride_across;
#pragma unroll 8  // all of the batch; measured: without the number it is a fifth slower
      for (int c = 0; c < kBatch; ++c) {
        if (((reaching >> (c * kLanes)) & ((1u << kLanes) - 1)) == 0) continue;
        const ColumnOfVoxels column = batch.column[c];
        float share[kWide];
#pragma unroll
        for (int u = 0; u < kWide; ++u) share[u] = batch.share[c][u];
#pragma unroll
        for (int run = 0; run < kRuns; ++run) {
          const float v = from_v + 32 * run;
          const float* const of_column = voxels + c * stride_across;
          const float along_z =
              fabsf(column.per_pixel) <= 1
                  ? SumOfTwo(column, v, of_column, n.z, f.spacing[2], f.source[2])
                  : SumAlongZ(column, v, of_column, n.z, f.spacing[2], f.source[2]);
#pragma unroll
          for (int u = 0; u < kWide; ++u) sum[run][u] = fmaf(share[u], along_z, sum[run][u]);
        }
      }
      __syncwarp();
    }
  }
#pragma unroll
  for (int run = 0; run < kRuns; ++run) {
    const int row = first_row + 32 * run;
    if (row >= rows) break;
    float* const to =
        projections + (static_cast<int64_t>(blockIdx.z) * rows + row) * columns + first_u;
#pragma unroll
    for (int u = 0; u < kWide; ++u) {
      if (first_u + u < columns) to[u] += sum[run][u];
    }
  }
}

}  // namespace

absl::Status LaunchFootprintColumns(const ProjectedViews<float>& views, int count,
                                    const float* volume, const VolumeGrid& grid,
                                    const Shape3& stack, float* projections, cudaStream_t stream) {
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  const dim3 blocks((columns + kWide * kWarps - 1) / (kWide * kWarps),
                    (rows + 32 * kRuns - 1) / (32 * kRuns), count);
  ColumnsKernel<<<blocks, 32 * kWarps, 0, stream>>>(views, make_int3(grid.nx, grid.ny, grid.nz),
                                                    volume, rows, columns, projections);
  return ToStatus(cudaGetLastError(), "ColumnsKernel");
}

}  // namespace isocenter::cuda
