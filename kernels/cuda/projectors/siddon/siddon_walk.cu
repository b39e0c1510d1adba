// Gathers like backproject_siddon.cu, but a thread has a run of voxels along z and goes through
// each column of pixels once for all of them.
//
// Seen along z the voxels of a run are one square. A line q + t·d, q from its middle, lies in it
// for
//   clamp(((|dx| + |dy|) / 2 - |s|) / min(|dx|, |dy|), 0, 1) / max(|dx|, |dy|),  s = q × d,
// and d and s of the rays of a detector are affine in the row and the column: whether an arm leans
// or not, a row costs a few multiply-adds. What the line has in the square begins or ends where it
// crosses its major axis' faces, so that its middle, and with it its z, follows from that length.
// On the way it meets one voxel or two, since no ray is steeper than one voxel.
#include "kernels/cuda/projectors/siddon/siddon_gather.cuh"
#include "kernels/cuda/projectors/siddon/siddon_walk.h"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 16;  // voxels of a run
// Two voxels may follow a run and one go before it, which rays at its ends meet.
constexpr int kSlots = kDepth + 4;
constexpr float kLowest = -0.5f * kDepth;  // face of the run, from its middle

// A column of pixels over a run. r counts rows in the direction of z, from near where the middle
// of the run is seen; z counts voxels from there.
struct WalkedColumn {
  float s, s_r;          // q × d, with the sign of what the middle is shifted by
  float major, major_r;  // d along that of x and y in which the rays go further
  float minor, minor_r;  // and along the other one
  float z, z_r, z_rr;    // where a ray crosses the plane of the voxels across the major axis
  float climb, climb_r, climb_rr;  // of z from plane to plane
  float first, last;               // r

  __device__ float PlaneAt(float at) const { return fmaf(at, fmaf(at, z_rr, z_r), z); }
  __device__ float ClimbAt(float at) const { return fmaf(at, fmaf(at, climb_rr, climb_r), climb); }
};

// What a view and the run have in common.
struct WalkedRun {
  Split w, uw, vw;  // of the middle of the run
  float depth, r;   // w, and 1 / w
  float centre[3];  // of the run from the source, over w
  float towards;    // 1 or -1: v grows with z or against it
};

__device__ __forceinline__ WalkedColumn ColumnOf(const GatheredView& g, const WalkedRun& run,
                                                 float from_u, float from_v, float low_row,
                                                 float high_row) {
  const float du = DistanceFrom(from_u, run.w, run.uw);
  const float dv = DistanceFrom(from_v, run.w, run.vw);
  // At the depth of the run's middle the ray of row 0 is q from it.
  float q[3], d[3], row[3];
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    row[a] = run.towards * g.per_row[a];
    q[a] = fmaf(dv, g.per_row[a], du * g.per_column[a]);
    d[a] = fmaf(q[a], run.r, run.centre[a]);
  }
  const bool x_major = fabsf(d[0]) >= fabsf(d[1]);
  const float q_major = x_major ? q[0] : q[1], q_minor = x_major ? q[1] : q[0];
  const float row_major = x_major ? row[0] : row[1], row_minor = x_major ? row[1] : row[0];
  const float from_major = run.depth * (x_major ? run.centre[0] : run.centre[1]);
  const float from_minor = run.depth * (x_major ? run.centre[1] : run.centre[0]);
  WalkedColumn c;
  c.major = x_major ? d[0] : d[1];
  c.minor = x_major ? d[1] : d[0];
  c.major_r = row_major;
  c.minor_r = row_minor;
  // Rays come from the source: q × d of one changes by (source - middle) × the change of d.
  const float sign = c.major < 0 ? 1.f : -1.f;
  c.s = sign * fmaf(q_minor, c.major, -(q_major * c.minor));
  c.s_r = sign * fmaf(from_major, row_minor, -(from_minor * row_major));
  // z at the plane is a quotient of two linear functions of r: z + r z_r / (1 + r bend).
  const float per_major = Reciprocal(c.major), bend = row_major * per_major;
  const float per_plane = d[2] * per_major;
  c.z = fmaf(-q_major, per_plane, q[2]);
  c.z_r = from_major * per_major * fmaf(-per_plane, row_major, row[2]);
  c.z_rr = -bend * c.z_r;
  c.climb = d[2] * fabsf(per_major);
  c.climb_r = fmaf(-per_plane, row_major, row[2]) * fabsf(per_major);
  c.climb_rr = -bend * c.climb_r;
  const float per_z = Reciprocal(c.z_r);
  const float steepest = fmaf((1 - kLowest) * per_z, fabsf(c.climb_r), fabsf(c.climb));
  const float reach = fmaf(0.5f, steepest, 1e-3f - kLowest);
  const auto at = [&](float z) {
    const float rows = (z - c.z) * per_z;
    return rows * Reciprocal(fmaf(-bend, rows, 1.f));
  };
  c.first = ceilf(fmaxf(at(-reach), low_row));
  c.last = floorf(fminf(at(reach), high_row));
  return c;
}

// Adds the column's pixels to the sums of the run, `slot` that of the voxel before it; `pixels` are
// those of row `first` and on, `stride` apart. kEnds voxels, at most, may end at a row.
template <int kEnds>
__device__ __forceinline__ void WalkRows(const WalkedColumn& c, const float* pixels, int at,
                                         int stride, float* slot) {
  // A detector may begin amid the run.
  const float first_low = fmaf(-0.5f, fabsf(c.ClimbAt(c.first)), c.PlaneAt(c.first));
  const float skipped = fmaxf(floorf(first_low - kLowest) + 1, 0.f);
  slot += static_cast<int>(skipped) * kThreads;
  // `below` is what the voxel under `face` gets, the rest of `all` is the next one's.
  float face = kLowest + skipped, below = 0, all = 0;
#pragma unroll 2
  for (float r = c.first; r <= c.last; r += 1, at += stride) {
    const float s = fmaf(r, c.s_r, c.s);
    const float major = fmaf(r, c.major_r, c.major), minor = fmaf(r, c.minor_r, c.minor);
    const float half = fmaf(0.5f, fabsf(major) + fabsf(minor), -fabsf(s));
    const float part = __saturatef(half * Reciprocal(fminf(fabsf(major), fabsf(minor))));
    const float value = part * __ldg(pixels + at);
    const float climb = c.ClimbAt(r), way = part * climb;
    // What a corner cuts off lies before or behind what is left.
    const int side = (__float_as_int(s) ^ __float_as_int(minor)) & 0x80000000;
    const float shift = __int_as_float(__float_as_int(climb - way) ^ side);
    const float z = fmaf(0.5f, shift, c.PlaneAt(r)), low = fmaf(-0.5f, fabsf(way), z);
#pragma unroll
    for (int i = 0; i < kEnds; ++i) {
      if (low >= face) {
        *slot += below;
        slot += kThreads;
        face += 1;
        below = all - below;
        all = below;
      }
    }
    // Of a ray that climbs nowhere, all.
    below = fmaf(value, __saturatef((face - low) * Reciprocal(fabsf(way))), below);
    all += value;
  }
  *slot += below;
  slot[kThreads] += all - below;
}

// Adds one view to the run of voxels whose middle is (x, y, z), all from the grid's middle.
template <int kEnds>
__device__ __forceinline__ void WalkView(const GatheredView& g, float x, float y, float z,
                                         const float* pixels, const Extent& e, float* sums) {
  const float* m = g.m;
  WalkedRun run;
  run.w = SumOf(g, 2, x, y, z), run.uw = SumOf(g, 0, x, y, z), run.vw = SumOf(g, 1, x, y, z);
  const float w = run.w.sum + run.w.rest;
  run.depth = w;
  run.r = Reciprocal(w);
  run.centre[0] = (x - g.source[0]) * run.r;
  run.centre[1] = (y - g.source[1]) * run.r;
  run.centre[2] = (z - g.source[2]) * run.r;
  run.towards = g.per_row[2] < 0 ? -1.f : 1.f;
  const float u = run.uw.sum * run.r, middle_u = 0.5f * (e.columns - 1);
  const float middle_v = 0.5f * (e.rows - 1);
  const float nearest = w - 0.5f * (fabsf(m[8]) + fabsf(m[9])) + kLowest * fabsf(m[10]);
  const float half_u = 0.5001f * Reciprocal(nearest) *
                       (fabsf(fmaf(-u, m[8], m[0])) + fabsf(fmaf(-u, m[9], m[1])) +
                        kDepth * fabsf(fmaf(-u, m[10], m[2])));
  const PixelRange across = RangeAround(u + middle_u, half_u + kPixelMargin, e.columns);
  const float row = rintf(run.vw.sum * run.r + middle_v);
  const float ends[2] = {-row, e.rows - 1 - row};
  const float low_row = run.towards > 0 ? ends[0] : -ends[1];
  const float high_row = run.towards > 0 ? ends[1] : -ends[0];
  const int stride = run.towards > 0 ? e.columns : -e.columns;
#pragma unroll 1
  for (int column = across.first; column <= across.last; ++column) {
    const WalkedColumn c =
        ColumnOf(g, run, static_cast<float>(column) - middle_u, row - middle_v, low_row, high_row);
    if (!(c.first <= c.last)) continue;
    const int first = static_cast<int>(fmaf(run.towards, c.first, row));
    WalkRows<kEnds>(c, pixels, first * e.columns + column, stride, sums);
  }
}

template <int kEnds>
__global__ __launch_bounds__(kThreads,
                             4) void WalkKernel(const __grid_constant__ GatheredViews views,
                                                int count, const float* scaled, Extent e,
                                                float* volume) {
  __shared__ float sums[kSlots * kThreads];
  const int2 column = ColumnOfThread();
  const int x = blockIdx.x * kBlockX + column.x, y = blockIdx.y * kBlockY + column.y;
  const int z0 = blockIdx.z * kDepth;
  if (x >= e.nx || y >= e.ny) return;
  float run[kDepth];
  LoadRun(volume, e, x, y, z0, run);
  // Slots of this thread alone: nobody waits.
  float* const slots = sums + threadIdx.x;
  for (int k = 0; k < kSlots; ++k) slots[k * kThreads] = 0;
#pragma unroll
  for (int k = 0; k < kDepth; ++k) slots[(k + 1) * kThreads] = run[k];
  const float from_x = x - 0.5f * (e.nx - 1), from_y = y - 0.5f * (e.ny - 1);
  const float from_z = z0 + 0.5f * (kDepth - 1) - 0.5f * (e.nz - 1);
#pragma unroll 1
  for (int i = 0; i < count; ++i, scaled += static_cast<int64_t>(e.rows) * e.columns) {
    WalkView<kEnds>(views.view[i], from_x, from_y, from_z, scaled, e, slots);
  }
#pragma unroll
  for (int k = 0; k < kDepth; ++k) run[k] = slots[(k + 1) * kThreads];
  StoreRun(run, e, x, y, z0, volume);
}

}  // namespace

Walk WalkOf(const ProjectionMatrix& centered, const VolumeGrid& grid, const Shape3& stack) {
  if (!ZFollowsRows(centered)) return Walk::kNone;
  const Rays rays = RaysOf(centered);
  const double half_rows = 0.5 * static_cast<double>(stack.middle);
  const double half_columns = 0.5 * static_cast<double>(stack.fast);
  const double reach =
      0.5 * (std::abs(centered(2, 0)) * grid.nx + std::abs(centered(2, 1)) * grid.ny +
             std::abs(centered(2, 2)) * (grid.nz + 2 * kDepth));
  const double nearest = centered(2, 3) - reach, deepest = centered(2, 3) + reach;
  if (!(nearest > 0)) return Walk::kNone;  // runs may reach further than the grid
  const double lean = std::max(std::abs(rays.per_row.x), std::abs(rays.per_row.y));
  double least = INFINITY, steepest = 0;  // along the major axis; of z from plane to plane
  for (int64_t column = 0; column < stack.fast; ++column) {
    const Vec3 d = rays.At(static_cast<double>(column) + 0.5 - half_columns, 0);
    const double major = std::max(std::abs(d.x), std::abs(d.y)) - lean * half_rows;
    least = std::min(least, major);
    steepest = std::max(steepest, (std::abs(d.z) + std::abs(rays.per_row.z) * half_rows) / major);
  }
  if (!(least > 0 && steepest < 1)) return Walk::kNone;
  // z from row to row. What a ray has in a voxel climbs by its own slope at most, so that the lower
  // end of that grows from row to row, by less than two voxels.
  const double furthest = deepest * (std::abs(rays.per_row.z) + lean);
  const double closest = nearest * (std::abs(rays.per_row.z) - lean);
  if (!(furthest + steepest < 2 && closest > steepest)) return Walk::kNone;
  // What the series leaves out, in voxels, at the ends of a run.
  const double height = 0.5 * kDepth + 1, bend = lean / least * height / closest;
  if (!(height * bend * bend < 1e-5)) return Walk::kNone;
  return furthest + steepest < 1 ? Walk::kFineRows : Walk::kCoarseRows;
}

absl::Status LaunchSiddonWalk(Walk walk, std::span<const ProjectionMatrix> centered,
                              const float* scaled, const VolumeGrid& grid, const Shape3& stack,
                              float* volume, cudaStream_t stream) {
  const auto kernel = walk == Walk::kFineRows ? WalkKernel<1> : WalkKernel<2>;
  kernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(GatheredViewsOf(centered, grid),
                                                          static_cast<int>(centered.size()), scaled,
                                                          ExtentOf(grid, stack), volume);
  return ToStatus(cudaGetLastError(), "WalkKernel");
}

}  // namespace isocenter::cuda
