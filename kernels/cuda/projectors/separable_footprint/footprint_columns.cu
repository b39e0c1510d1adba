// A block has neighbouring rows of a few columns of the detector. Each of its warps finds, in a
// plane of its own, the columns of voxels that reach these, with what each weighs in each detector
// column; then every lane sums columns of voxels along z for its own rows, once for all detector
// columns.
#include "kernels/cuda/projectors/separable_footprint/footprint_columns.h"

namespace isocenter::cuda {
namespace {

constexpr int kWarps = 5;   // of a block: neighbours along v
constexpr int kRuns = 2;    // of 32 rows of a warp
constexpr int kBlocks = 5;  // of a multiprocessor; fewer registers spill little, more wait long
constexpr int kWide = 16;   // columns of the detector of a block
constexpr int kMost = 16;   // columns of voxels of a plane at a time
constexpr int kShares = 8;  // detector columns of a lane that finds weights
constexpr int kLanes = kWide / kShares;  // that share a column of voxels
static_assert(kMost * kLanes == 32);

// A column of voxels as a block sees it.
struct alignas(16) ColumnOfVoxels {
  float v;          // where its middle is seen
  float per_pixel;  // voxels along z
  float across;     // squared distance from the source in the (x, y) plane, mm²
  int index;        // y·nx + x
};
// Columns of voxels of one plane that reach the block's detector columns.
struct Plane {
  alignas(16) float share[kMost][kWide];
  ColumnOfVoxels column[kMost];
  int count;
};

// What a block looks for in each plane: columns of voxels around slope·D, D the plane's distance
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

// Where a block looks and from where it is seen.
struct Sight {
  float from_u;  // of its first detector column, from the middle
  int plane;     // the axis across which planes are gone through: 0 or 1
  Bounds bounds;
};
__device__ Sight SightOf(const ProjectedView<float>& g, int first_u, int columns) {
  const float from_u = first_u - 0.5f * (columns - 1), middle_u = from_u + 0.5f * (kWide - 1);
  const float dx = fmaf(middle_u, g.per_column[0], g.direction[0]);
  const float dy = fmaf(middle_u, g.per_column[1], g.direction[1]);
  const int plane = fabsf(dx) >= fabsf(dy) ? 0 : 1;
  return {from_u, plane, BoundsOf(g, middle_u, plane)};
}

// By a warp: the next kMost columns of voxels, from the `skip`th on, of plane i that may reach the
// block. Whether there are more.
__device__ bool FindColumns(const ProjectedView<float>& g, const Sight& sight, int3 n, int i,
                            int skip, int lane, Plane& to) {
  const FootprintView<float>& f = g.footprint;
  const bool along_x = sight.plane == 0;
  const int n_plane = along_x ? n.x : n.y, n_across = along_x ? n.y : n.x;
  if (lane == 0) to.count = 0;
  if (i >= n_plane) return false;
  const float at_plane = i - 0.5f * (n_plane - 1);
  const float distance = at_plane - (along_x ? g.source[0] : g.source[1]);
  const Bounds& bounds = sight.bounds;
  const Span span =
      bounds.bounded ? SpanAround(fmaf(distance, bounds.slope, along_x ? g.source[1] : g.source[0]),
                                  fmaf(fabsf(distance), bounds.cone, bounds.reach), n_across)
                     : Span{0, n_across - 1};
  const int own = span.first + skip + lane / kLanes, part = lane % kLanes * kShares;
  const float at_across = own - 0.5f * (n_across - 1);
  const float x = along_x ? at_plane : at_across, y = along_x ? at_across : at_plane;
  const Seen<float> seen = SeenAt(f, x, y, 0.f);
  const Trapezoid<float> trapezoid = TrapezoidOf(f, seen);
  // What is left of h_j where G is in voxels and |x_j - s| with the voxel.
  const bool counts = own <= span.last && trapezoid.area > 0;
  const float amount =
      counts ? f.mass * (seen.r * seen.r * seen.r) * Reciprocal(trapezoid.area) : 0;
  float share[kShares];
  float below = AreaUpTo(trapezoid, sight.from_u + part - 0.5f);
  bool any = false;
#pragma unroll
  for (int s = 0; s < kShares; ++s) {
    const float above = AreaUpTo(trapezoid, sight.from_u + part + s + 0.5f);
    share[s] = counts ? amount * (above - below) : 0;
    any = any || share[s] > 0;
    below = above;
  }
  // One bit for each column of voxels, at its first lane.
  static_assert(kLanes == 2);
  const unsigned lanes = __ballot_sync(0xffffffffu, any);
  const unsigned reaching = (lanes | lanes >> 1) & 0x55555555u;
  const int first_lane = lane - lane % kLanes;
  if (reaching >> first_lane & 1) {
    const int place = __popc(reaching & ((1u << first_lane) - 1));
#pragma unroll
    for (int s = 0; s < kShares; ++s) to.share[place][part + s] = share[s];
    if (part == 0) {
      const float mm_x = fmaf(x, f.spacing[0], -f.source[0]);
      const float mm_y = fmaf(y, f.spacing[1], -f.source[1]);
      to.column[place] = {seen.v, seen.w / (2 * f.half_a_v), fmaf(mm_x, mm_x, mm_y * mm_y),
                          along_x ? own * n.x + i : i * n.x + own};
    }
  }
  if (lane == 0) to.count = __popc(reaching);
  return span.first + skip + kMost <= span.last;
}

// kTwo: no pixel is longer than a voxel.
template <bool kTwo>
__device__ void AddPlanes(const ProjectedView<float>& g, const Sight& sight, int3 n, float from_v,
                          const float* volume, Plane (&planes)[kWarps],
                          float (&sum)[kRuns][kWide]) {
  const FootprintView<float>& f = g.footprint;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int n_plane = sight.plane == 0 ? n.x : n.y;
  for (int i = 0; i < n_plane; i += kWarps) {
    bool more = true;
    for (int skip = 0; more; skip += kMost) {
      more = FindColumns(g, sight, n, i + warp, skip, lane, planes[warp]);
      more = __syncthreads_or(more);
      for (int p = 0; p < kWarps; ++p) {
        const Plane& plane = planes[p];
        const int count = plane.count;
#pragma unroll 4
        for (int c = 0; c < count; ++c) {
          const ColumnOfVoxels column = plane.column[c];
          const float* const voxels = volume + static_cast<int64_t>(column.index) * n.z;
          float along_z[kRuns];
#pragma unroll
          for (int run = 0; run < kRuns; ++run) {
            const float v = from_v + 32 * run;
            along_z[run] = kTwo ? SumOfTwo(column, v, voxels, n.z, f.spacing[2], f.source[2])
                                : SumAlongZ(column, v, voxels, n.z, f.spacing[2], f.source[2]);
          }
#pragma unroll
          for (int u = 0; u < kWide; ++u) {
            const float share = plane.share[c][u];
#pragma unroll
            for (int run = 0; run < kRuns; ++run) {
              sum[run][u] = fmaf(share, along_z[run], sum[run][u]);
            }
          }
        }
      }
      __syncthreads();
    }
  }
}

__global__ __launch_bounds__(32 * kWarps, kBlocks) void ColumnsKernel(
    const __grid_constant__ ProjectedViews<float> views, int3 n, const float* volume, int rows,
    int columns, int begin_row, int end_row, float* projections) {
  __shared__ Plane planes[kWarps];
  const ProjectedView<float>& g = views.view[blockIdx.z];
  const FootprintView<float>& f = g.footprint;
  const int first_u = blockIdx.x * kWide;
  const int first_row =
      begin_row + (blockIdx.y * kWarps + threadIdx.x / 32) * (32 * kRuns) + threadIdx.x % 32;
  const float from_v = first_row - 0.5f * (rows - 1);
  const Sight sight = SightOf(g, first_u, columns);
  float sum[kRuns][kWide] = {};
  const float most_depth = f.m[11] + 0.5f * (fabsf(f.m[8]) * n.x + fabsf(f.m[9]) * n.y);
  if (most_depth <= 2 * fabsf(f.half_a_v)) {
    AddPlanes<true>(g, sight, n, from_v, volume, planes, sum);
  } else {
    AddPlanes<false>(g, sight, n, from_v, volume, planes, sum);
  }
#pragma unroll
  for (int run = 0; run < kRuns; ++run) {
    const int row = first_row + 32 * run;
    if (row >= end_row) break;
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
                                    const Shape3& stack, RowRange seen, float* projections,
                                    cudaStream_t stream) {
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  constexpr int kTall = 32 * kWarps * kRuns;
  const dim3 blocks((columns + kWide - 1) / kWide, (seen.count + kTall - 1) / kTall, count);
  ColumnsKernel<<<blocks, 32 * kWarps, 0, stream>>>(views, make_int3(grid.nx, grid.ny, grid.nz),
                                                    volume, rows, columns, seen.first, seen.end(),
                                                    projections);
  return ToStatus(cudaGetLastError(), "ColumnsKernel");
}

}  // namespace isocenter::cuda
