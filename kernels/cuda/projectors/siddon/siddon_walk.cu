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
//
// Quotients of affine functions that change little over a run are series of second order, found
// once for a column of pixels: then a row needs no reciprocal but that of how far its ray climbs.
#include <vector>

#include "kernels/cuda/projectors/siddon/siddon_gather.cuh"
#include "kernels/cuda/projectors/siddon/siddon_walk.h"

namespace isocenter::cuda {
namespace {

// Of the views, where it is known to the compiler: of usual detectors, and of these binned by two.
constexpr int kWidePitch = 1280, kBinnedPitch = 640;
constexpr int kRowsBehind = 3;             // of zeros
constexpr int kDepth = 24;                 // voxels of a run
constexpr float kLowest = -0.5f * kDepth;  // face of the run, from its middle
// Rows that are read at once, where each ends at most kEnds voxels. So many may be read behind
// those that count.
template <int kEnds>
constexpr int kRows = kEnds == 1 ? 4 : 2;
static_assert(kRows<1> - 1 <= kRowsBehind && kRows<2> - 1 <= kRowsBehind);
// Two voxels may follow a run and one go before it, which rays at its ends meet, and more those of
// the rows behind.
template <int kEnds>
constexpr int kSlots = kDepth + 4 + (kRows<kEnds> - 1) * kEnds;
// How far the series may be off, in what a ray has in a voxel.
constexpr float kNegligible = 3e-5f;

// A column of pixels over a run. r counts rows from near where the middle of the run is seen, z
// voxels from there.
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
};

__device__ __forceinline__ WalkedColumn ColumnOf(const GatheredView& g, const WalkedRun& run,
                                                 float from_u, float from_v, float low_row,
                                                 float high_row) {
  const float du = DistanceFrom(from_u, run.w, run.uw);
  const float dv = DistanceFrom(from_v, run.w, run.vw);
  // At the depth of the run's middle the ray of row 0 is q from it.
  float q[3], d[3];
  const float(&row)[3] = g.per_row;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
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
    return fmaf(bend * rows, rows, rows);
  };
  c.first = ceilf(fmaxf(at(-reach), low_row));
  c.last = floorf(fminf(at(reach), high_row));
  return c;
}

// How many voxels end below `low`, the lower end of a column's first row: a detector may begin amid
// the run.
__device__ __forceinline__ float SkippedBy(float low) {
  return fmaxf(floorf(low - kLowest) + 1, 0.f);
}

// Adds the column's pixels to the sums of the run, `slot` that of the voxel before it; `pixel` is
// that of row `first`, others are `pitch` apart. kEnds voxels, at most, may end at a row. Serves
// all columns.
template <int kEnds>
__device__ __forceinline__ void WalkAnyRows(const WalkedColumn& c, const float* pixel, int pitch,
                                            float* slot) {
  const float skipped = SkippedBy(fmaf(-0.5f, fabsf(c.ClimbAt(c.first)), c.PlaneAt(c.first)));
  slot += static_cast<int>(skipped) * kThreads;
  // `below` is what the voxel under `face` gets, the rest of `all` is the next one's.
  float face = kLowest + skipped, below = 0, all = 0;
#pragma unroll 1
  for (float r = c.first; r <= c.last; r += 1, pixel += pitch) {
    const float s = fmaf(r, c.s_r, c.s);
    const float major = fmaf(r, c.major_r, c.major), minor = fmaf(r, c.minor_r, c.minor);
    const float half = fmaf(0.5f, fabsf(major) + fabsf(minor), -fabsf(s));
    const float part = __saturatef(half * Reciprocal(fminf(fabsf(major), fabsf(minor))));
    const float value = part * __ldg(pixel);
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

// What a column's rays have in the run's square, where all climb one way: from `enter` to `leave`,
// the parts of a ray's way from plane to plane at which it comes in and goes out, both from 0 to 1.
// `low` is the z of its lower end at a plane, and `climb` what the other end has more.
struct ColumnSeries {
  float enter, enter_r, enter_rr, leave, leave_r, leave_rr;
  float low, low_r, low_rr;
  float climb, climb_r;

  __device__ float ClimbAt(float r) const { return fmaf(r, climb_r, climb); }
};

// False where a series would be off by more than kNegligible, or rays climb both ways.
template <int kEnds>
__device__ __forceinline__ bool SeriesOf(const WalkedColumn& c, ColumnSeries& series) {
  // s / minor, and half of |major / minor|, over the rows.
  const float per_minor = Reciprocal(c.minor), bend = c.minor_r * per_minor;
  const float side = (c.climb < 0 ? -per_minor : per_minor);
  const float s = c.s * side, s_r = fmaf(-s, bend, c.s_r * side);
  const float turned = c.major * c.minor < 0 ? -0.5f * per_minor : 0.5f * per_minor;
  const float half = c.major * turned, half_r = fmaf(-half, bend, c.major_r * turned);
  series.enter = 0.5f - half + s;
  series.leave = 0.5f + half + s;
  series.enter_r = s_r - half_r;
  series.leave_r = s_r + half_r;
  series.enter_rr = -bend * series.enter_r;
  series.leave_rr = -bend * series.leave_r;
  const float up = c.climb < 0 ? -1.f : 1.f;
  series.climb = up * c.climb;
  series.climb_r = up * c.climb_r;
  series.low = fmaf(-0.5f, series.climb, c.z);
  series.low_r = fmaf(-0.5f, series.climb_r, c.z_r);
  series.low_rr = fmaf(-0.5f * up, c.climb_rr, c.z_rr);
  // Of third order at the ends, and between the rows that are read at once.
  constexpr float kSpan = kRows<kEnds> - 1;
  const float reach = fmaxf(-c.first, c.last), between = 0.25f * kSpan * kSpan;
  const float left_out = fabsf(bend) * fmaf(fabsf(bend) * reach, reach * reach, between) *
                         (fabsf(s_r) + fabsf(half_r));
  const float climbs_least = fminf(series.ClimbAt(c.first), series.ClimbAt(c.last));
  return (left_out < kNegligible) & (climbs_least > 0);
}

// A series between two rows.
struct Line {
  float at_0, step;  // from row to row
  __device__ float PartAt(int i) const {
    return __saturatef(fmaf(static_cast<float>(i), step, at_0));
  }
};
__device__ __forceinline__ Line LineOf(float at_0, float first, float second, float from,
                                       float to) {
  const float slope = fmaf(from, second, first);
  return {fmaf(from, slope, at_0), fmaf(to, second, slope)};
}

// WalkAnyRows for columns that have series.
template <int kEnds, int kPitch>
__device__ __forceinline__ void WalkRows(const ColumnSeries& c, float first, float last,
                                         bool begins, const float* pixels, int pitch, float* slot) {
  const float skipped =
      begins ? SkippedBy(fmaf(first, fmaf(first, c.low_rr, c.low_r), c.low)) : 0.f;
  slot += static_cast<int>(skipped) * kThreads;
  // From the lower end of row 0 to the face above the voxel that gets `below`.
  float ahead = kLowest + skipped - c.low, below = 0, all = 0;
  constexpr int kAtOnce = kRows<kEnds>;
#pragma unroll 1
  for (; first <= last; first += kAtOnce) {
    float pixel[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      pixel[i] = __ldg(pixels + i * (kPitch == 0 ? pitch : kPitch));
    }
    pixels += kAtOnce * (kPitch == 0 ? pitch : kPitch);
    // From the first to the last of these rows, lines do.
    const float end_row = first + (kAtOnce - 1);
    const Line enter = LineOf(c.enter, c.enter_r, c.enter_rr, first, end_row);
    const Line leave = LineOf(c.leave, c.leave_r, c.leave_rr, first, end_row);
    const Line face = LineOf(ahead, -c.low_r, -c.low_rr, first, end_row);
    const float climb_0 = c.ClimbAt(first);
    float to_face = face.at_0;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float in = enter.PartAt(i), part = leave.PartAt(i) - in;
      const float climb = fmaf(static_cast<float>(i), c.climb_r, climb_0);
      if (i > 0) to_face += face.step;
#pragma unroll
      for (int end = 0; end < kEnds; ++end) {
        if (to_face <= 0) {
          *slot += below;
          slot += kThreads;
          ahead += 1;
          to_face += 1;
          below = all - below;
          all = below;
        }
      }
      // Of a ray that climbs nowhere, all.
      const float until = __saturatef(fmaf(-climb, in, to_face) * Reciprocal(fabsf(climb)));
      below = fmaf(pixel[i], fminf(until, part), below);
      all = fmaf(pixel[i], part, all);
    }
  }
  *slot += below;
  slot[kThreads] += all - below;
}

// Adds one view to the run of voxels whose middle is (x, y, z), all from the grid's middle.
template <int kEnds, int kPitch>
__device__ __forceinline__ void WalkView(const GatheredView& g, float x, float y, float z,
                                         const float* pixels, int pitch, const Extent& e,
                                         float* sums) {
  const float* m = g.m;
  WalkedRun run;
  run.w = SumOf(g, 2, x, y, z), run.uw = SumOf(g, 0, x, y, z), run.vw = SumOf(g, 1, x, y, z);
  const float w = run.w.sum + run.w.rest;
  run.depth = w;
  run.r = Reciprocal(w);
  run.centre[0] = (x - g.source[0]) * run.r;
  run.centre[1] = (y - g.source[1]) * run.r;
  run.centre[2] = (z - g.source[2]) * run.r;
  const float u = run.uw.sum * run.r, middle_u = 0.5f * (e.columns - 1);
  const float middle_v = 0.5f * (e.rows - 1);
  const float nearest = w - 0.5f * (fabsf(m[8]) + fabsf(m[9])) + kLowest * fabsf(m[10]);
  const float half_u = 0.5001f * Reciprocal(nearest) *
                       (fabsf(fmaf(-u, m[8], m[0])) + fabsf(fmaf(-u, m[9], m[1])) +
                        kDepth * fabsf(fmaf(-u, m[10], m[2])));
  const PixelRange across = RangeAround(u + middle_u, half_u + kPixelMargin, e.columns);
  const float row = rintf(run.vw.sum * run.r + middle_v);
#pragma unroll 1
  for (int column = across.first; column <= across.last; ++column) {
    const WalkedColumn c = ColumnOf(g, run, static_cast<float>(column) - middle_u, row - middle_v,
                                    -row, static_cast<float>(e.rows - 1) - row);
    if (!(c.first <= c.last)) continue;
    const int first = static_cast<int>(c.first + row);
    const int at = first * (kPitch == 0 ? pitch : kPitch) + column;
    const float* const from = pixels + at;
    ColumnSeries series;
    if (SeriesOf<kEnds>(c, series)) {
      WalkRows<kEnds, kPitch>(series, c.first, c.last, first == 0, from, pitch, sums);
    } else {
      WalkAnyRows<kEnds>(c, from, pitch, sums);
    }
  }
}

// kPitch: that of the views where it is not 0, so that one address serves several rows.
template <int kEnds, int kPitch>
__global__ __launch_bounds__(kThreads,
                             4) void WalkKernel(const __grid_constant__ GatheredViews views,
                                                int count, const float* scaled, ScaledLayout layout,
                                                Extent e, float* volume) {
  __shared__ float sums[kSlots<kEnds> * kThreads];
  const int2 column = ColumnOfThread();
  const int x = blockIdx.x * kBlockX + column.x, y = blockIdx.y * kBlockY + column.y;
  const int z0 = blockIdx.z * kDepth;
  if (x >= e.nx || y >= e.ny) return;
  float run[kDepth];
  LoadRun(volume, e, x, y, z0, run);
  // Slots of this thread alone: nobody waits.
  float* const slots = sums + threadIdx.x;
  for (int k = 0; k < kSlots<kEnds>; ++k) slots[k * kThreads] = 0;
#pragma unroll
  for (int k = 0; k < kDepth; ++k) slots[(k + 1) * kThreads] = run[k];
  const float from_x = x - 0.5f * (e.nx - 1), from_y = y - 0.5f * (e.ny - 1);
  const float from_z = z0 + 0.5f * (kDepth - 1) - 0.5f * (e.nz - 1);
#pragma unroll 1
  for (int i = 0; i < count; ++i, scaled += static_cast<int64_t>(layout.rows) * layout.pitch) {
    WalkView<kEnds, kPitch>(views.view[i], from_x, from_y, from_z, scaled, layout.pitch, e, slots);
  }
#pragma unroll
  for (int k = 0; k < kDepth; ++k) run[k] = slots[(k + 1) * kThreads];
  StoreRun(run, e, x, y, z0, volume);
}

template <int kEnds>
auto KernelFor(int pitch) {
  return pitch == kWidePitch     ? WalkKernel<kEnds, kWidePitch>
         : pitch == kBinnedPitch ? WalkKernel<kEnds, kBinnedPitch>
                                 : WalkKernel<kEnds, 0>;
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
  // The same of what rays climb, of first order: |Δz| changes by this from the middle to an end.
  const double climbs = (std::abs(rays.per_row.z) + lean) / least * height / closest;
  if (!(climbs * bend < 1e-5)) return Walk::kNone;
  return furthest + steepest < 1 ? Walk::kFineRows : Walk::kCoarseRows;
}

ScaledLayout WalkedLayout(const Shape3& stack, bool flipped) {
  const int columns = static_cast<int>(stack.fast);
  int pitch = columns;
  for (const int known : {kWidePitch, kBinnedPitch}) {
    if (columns <= known && 2 * columns >= known) pitch = known;
  }
  return {.pitch = pitch,
          .rows = static_cast<int>(stack.middle) + kRowsBehind,
          .by_plane = true,
          .flipped = flipped};
}

bool RowsFall(const ProjectionMatrix& centered) { return RaysOf(centered).per_row.z < 0; }

absl::Status LaunchSiddonWalk(Walk walk, std::span<const ProjectionMatrix> centered,
                              const float* scaled, const ScaledLayout& layout,
                              const VolumeGrid& grid, const Shape3& stack, float* volume,
                              cudaStream_t stream) {
  std::vector<ProjectionMatrix> views(centered.begin(), centered.end());
  if (layout.flipped) {
    for (ProjectionMatrix& view : views) {
      for (int i = 0; i < 4; ++i) view.m[4 + i] = -view.m[4 + i];
    }
  }
  const auto kernel =
      walk == Walk::kFineRows ? KernelFor<1>(layout.pitch) : KernelFor<2>(layout.pitch);
  kernel<<<BlocksOf<kDepth>(grid), kThreads, 0, stream>>>(GatheredViewsOf(views, grid),
                                                          static_cast<int>(views.size()), scaled,
                                                          layout, ExtentOf(grid, stack), volume);
  return ToStatus(cudaGetLastError(), "WalkKernel");
}

}  // namespace isocenter::cuda
