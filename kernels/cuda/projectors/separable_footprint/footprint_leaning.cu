// A warp has neighbouring rows of a few columns of the detector. It finds the columns of voxels
// along the axial axis that reach these; then, for four of them at a time, a quarter of the warp's
// lanes goes along each and works out what every voxel gives to each detector column, and where it
// ends on the detector; then every lane takes, for its own rows, the one or two voxels of each
// column that these see. A voxel's trapezoid is its own, so that columns may lean, but all rows
// share it.
#include <cmath>
#include <type_traits>

#include "kernels/cuda/projectors/separable_footprint/footprint_leaning.h"

namespace isocenter::cuda {
namespace {

constexpr int kWarps = 4;   // of a block: neighbours along u
constexpr int kBlocks = 5;  // of a multiprocessor
constexpr int kWide = 4;    // columns of the detector of a warp
constexpr int kSlots = 72;  // voxels that a warp's rows may see of one column, and a few more
constexpr int kGroup = 4;   // columns of voxels at a time
constexpr int kLanes = 32 / kGroup;
// Columns of voxels that a warp looks for at once: neighbours in neighbouring planes.
constexpr int kPlanes = 4, kAcross = 8;
static_assert(kPlanes * kAcross == 32);

// Of the axial axis, turned so that v grows along it: numbers k of voxels count from the end where
// v is least, positions from the middle.
struct Axial {
  int axis, n;
  float middle;
  float turn;                 // 1, or -1 where v grows against the axis
  float per_u, per_v, per_w;  // what u·w, v·w and w grow by per voxel
  float spacing, source;      // mm
  int64_t begin, stride;      // in memory
};

// t = clamp(per·u + from, 0, 1) goes from 0 to 1 over a piece of a trapezoid that holds `area`.
struct Piece {
  float per, from, area;
};

// A column of voxels as a warp sees it. Numerators u, v and w are those of the middle.
struct alignas(16) LeaningColumn {
  float v, w;
  int first, last;  // the voxels that the least and the most of its rows begin and end in
  float u;
  float per_depth;  // 1 / w of a voxel in the middle of those seen
  float amount;     // what all heights share
  float across;     // squared distance from the source across the axial axis, mm²
  // Of that voxel's trapezoid, around its u. No area: each voxel needs a trapezoid of its own.
  Piece rise, level, fall;
  float at[3];     // from the grid's middle; 0 along the axial axis
  bool many;       // a lane's run of rows may see more than two of its voxels
  int64_t voxels;  // in memory
};

struct WarpMemory {
  LeaningColumn column[32 + kGroup];
  float4 value[kGroup][kSlots];  // of each voxel for each detector column
  float edge[kGroup][kSlots];    // v where it ends
};

__device__ Axial AxialOf(const ProjectedView<float>& g, const VoxelLayout& layout) {
  const FootprintView<float>& f = g.footprint;
  const auto pick = [&](int row) {
    return g.axial == 0 ? f.m[row] : g.axial == 1 ? f.m[row + 1] : f.m[row + 2];
  };
  Axial a;
  a.axis = g.axial;
  a.n = Pick(layout.n, g.axial);
  a.middle = 0.5f * (a.n - 1);
  const float turn = a.turn = pick(4) < 0 ? -1.f : 1.f;
  a.per_u = turn * pick(0), a.per_v = turn * pick(4), a.per_w = turn * pick(8);
  a.spacing = turn * Pick(f.spacing, g.axial), a.source = Pick(f.source, g.axial);
  const int64_t stride = Pick(layout.stride, g.axial);
  a.begin = turn < 0 ? (a.n - 1) * stride : 0;
  a.stride = turn < 0 ? -stride : stride;
  return a;
}

// Columns of voxels in the plane at a distance D of the source lie around slope·D, within
// cone·|D| + reach, if they reach a warp's pixels.
struct Bounds {
  int plane, across;  // axes
  float slope, cone, reach;
  bool bounded;
};

// Of the pixels within `half` of (u, v).
__device__ Bounds BoundsOf(const ProjectedView<float>& g, float u, float v, float half_u,
                           float half_v) {
  const FootprintView<float>& f = g.footprint;
  const auto ray = [&](int axis) {
    return fmaf(u, Pick(g.per_column, axis),
                fmaf(v, Pick(g.per_row, axis), Pick(g.direction, axis)));
  };
  const int b = g.axial == 0 ? 1 : 0, c = g.axial == 2 ? 1 : 2;
  const bool along_b = fabsf(ray(b)) >= fabsf(ray(c));
  Bounds to;
  to.plane = along_b ? b : c, to.across = along_b ? c : b;
  // How far from a pixel's centre, in pixels times w, a voxel may be seen that reaches it.
  const float reach_u = fabsf(fmaf(-u, f.half_b_w, f.half_b_u)) +
                        fabsf(fmaf(-u, f.half_c_w, f.half_c_u)) + (2 * half_u + 1) * g.half_depth;
  const float reach_v = fabsf(fmaf(-v, f.half_a_w, f.half_a_v)) + (2 * half_v + 1) * g.half_depth;
  const float d = ray(to.plane), per_d = 1 / d;
  const float turn_u = Pick(g.per_column, to.plane), turn_v = Pick(g.per_row, to.plane);
  // Perspective within the pixels and the footprints, relative.
  const float bend = ((half_u + reach_u / g.least_depth) * fabsf(turn_u) +
                      (half_v + reach_v / g.least_depth) * fabsf(turn_v)) *
                         fabsf(per_d) +
                     2 * g.half_depth / g.least_depth;
  const float larger = 1 / (1 - bend);
  to.slope = ray(to.across) * per_d;
  const float by_u = fabsf((Pick(g.per_column, to.across) - to.slope * turn_u) * per_d) * larger;
  const float by_v = fabsf((Pick(g.per_row, to.across) - to.slope * turn_v) * per_d) * larger;
  constexpr float kMargin = 0.01f;
  to.cone = fmaf(half_u, by_u, half_v * by_v);
  to.reach = fabsf(d) * fmaf(reach_u, by_u, reach_v * by_v) + kMargin;
  to.bounded = bend < 0.5f;
  return to;
}

// An edge between rows, at v: 1 / (per_v - v·per_w), and v times that.
struct Edge {
  float v, v_per, per;
};
__device__ Edge EdgeAt(const Axial& a, float v) {
  const float per = 1 / fmaf(-v, a.per_w, a.per_v);
  return {v, v * per, per};
}

// Where an edge crosses the line of a column's centres, as a number of a voxel: its first face is
// at a whole number. A little low, so that what begins in a voxel by rounding alone is found in the
// one before.
__device__ float NumberAt(const LeaningColumn& c, const Edge& edge, float middle) {
  constexpr float kLow = 2e-4f;
  return fmaf(c.w, edge.v_per, fmaf(-c.v, edge.per, middle + (0.5f - kLow)));
}

// The column through to.at, for pixels of columns from_u - 0.5 ... from_u + kWide - 0.5 and rows
// from `low` to `high`, of which lanes have `run` side by side. False where it does not reach them.
__device__ bool See(const FootprintView<float>& g, const Axial& a, float from_u, const Edge& low,
                    const Edge& high, int run, LeaningColumn& to) {
  const float x = to.at[0], y = to.at[1], z = to.at[2];
  const auto row = [&](int i) {
    return fmaf(g.m[i], x, fmaf(g.m[i + 1], y, fmaf(g.m[i + 2], z, g.m[i + 3])));
  };
  to.u = row(0), to.v = row(4), to.w = row(8);
  const float alike = fmaf(a.per_v, to.w, -a.per_w * to.v);  // w² dv along the column, the same
  if (!(alike > 0)) return false;
  const auto voxel_at = [&](const Edge& edge) {
    return static_cast<int>(
        floorf(fminf(fmaxf(NumberAt(to, edge, a.middle), -1.f), static_cast<float>(a.n))));
  };
  to.first = voxel_at(low);
  to.last = min(voxel_at(high), to.first + kSlots - 2);
  const int least = max(to.first, 0), most = min(to.last + 1, a.n - 1);
  if (least > most) return false;
  const float begin = least - a.middle, end = most - a.middle;
  const float half = 0.5f * (end - begin), middle = 0.5f * (begin + end);
  Seen<float> seen;
  seen.w = fmaf(a.per_w, middle, to.w);
  seen.r = Reciprocal(seen.w);
  seen.u = fmaf(a.per_u, middle, to.u) * seen.r;
  seen.v = fmaf(a.per_v, middle, to.v) * seen.r;
  const Trapezoid<float> shape = TrapezoidOf(g, seen);
  to.per_depth = seen.r;
  to.amount = g.mass * Reciprocal(alike);
  const float mm[] = {fmaf(x, g.spacing[0], -g.source[0]), fmaf(y, g.spacing[1], -g.source[1]),
                      fmaf(z, g.spacing[2], -g.source[2])};
  to.across = (a.axis == 0 ? 0 : mm[0] * mm[0]) + (a.axis == 1 ? 0 : mm[1] * mm[1]) +
              (a.axis == 2 ? 0 : mm[2] * mm[2]);
  // Along the column the trapezoid moves, and scales with 1 / w. Its edges are elsewhere, as b and
  // c of TrapezoidOf change as u does and their depths by other factors than the voxel's own; by
  // less than kMost pixels, to the one side at one end and to the other at the other (float32 has u
  // itself, 620 pixels from the middle, in steps of 6e-5), or else voxels need their own.
  const float turned = (fabsf(g.half_b_w) + fabsf(g.half_c_w)) * seen.r;
  const float moved = half * fabsf(fmaf(-seen.u, a.per_w, a.per_u)) * seen.r;
  const float scaled = half * fabsf(a.per_w) * seen.r;
  constexpr float kMost = 3e-4f, kMostScaled = 0.01f;
  const float deepest = seen.w * (1 + scaled);
  to.many = !(alike > 1.001f * run * (deepest * deepest));
  to.level.area = 0;
  const float bent = 0.5f * a.per_w * seen.r;
  if (!(turned * (moved + scaled * (shape.u3 - shape.u0)) < kMost && turned < 0.1f &&
        scaled + fabsf(bent) < kMostScaled && shape.area > 0)) {
    return true;
  }
  const float further = fmaf(1 + 2 * kMostScaled, moved, 2 * kMostScaled * (shape.u3 - shape.u0));
  if (shape.u3 + further < from_u - 0.5f || shape.u0 - further > from_u + (kWide - 0.5f)) {
    return false;
  }
  const float rise = shape.u1 - shape.u0, fall = shape.u3 - shape.u2;
  constexpr float kLeast = 1e-18f;
  to.level.area = fmaxf(shape.u2 - shape.u1, kLeast);
  to.level.per = Reciprocal(to.level.area);
  to.level.from = (seen.u - shape.u1) * to.level.per;
  to.rise.per = 2 * shape.per_rise;
  to.rise.from = (seen.u - shape.u0) * to.rise.per;
  to.rise.area = rise * rise * shape.per_rise;
  // Falls from the right to the left.
  to.fall.per = -2 * shape.per_fall;
  to.fall.from = (seen.u - shape.u3) * to.fall.per;
  to.fall.area = fall * fall * shape.per_fall;
  to.amount *= Reciprocal(shape.area) * fmaf(-bent, bent, 1.f);
  return true;
}

// `amount` times what lies of the voxel at a place along a column over each of the detector columns
// from from_u on. `own`: where the column is kept.
__device__ float4 SharesOf(const FootprintView<float>& g, const Axial& a, const LeaningColumn& c,
                           const LeaningColumn& own, float place, float from_u, float amount) {
  static_assert(kWide == 4);
  const float w = fmaf(a.per_w, place, c.w), r = Reciprocal(w);
  float area[kWide + 1];
  amount *= r;
  if (c.level.area > 0) {
    const float scale = w * c.per_depth;
    const float from = fmaf(-fmaf(a.per_u, place, c.u), r, from_u - 0.5f) * scale;
#pragma unroll
    for (int i = 0; i <= kWide; ++i) {
      const float u = i == 0 ? from : fmaf(static_cast<float>(i), scale, from);
      const float rise = __saturatef(fmaf(u, c.rise.per, c.rise.from));
      const float level = __saturatef(fmaf(u, c.level.per, c.level.from));
      const float fall = __saturatef(fmaf(u, c.fall.per, c.fall.from));
      area[i] =
          fmaf(rise * rise, c.rise.area, fmaf(-fall * fall, c.fall.area, level * c.level.area));
    }
  } else {
    float at[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) at[i] = i == a.axis ? a.turn * place : own.at[i];
    const Trapezoid<float> shape = TrapezoidOf(g, SeenAt(g, at[0], at[1], at[2]));
#pragma unroll
    for (int i = 0; i <= kWide; ++i) area[i] = AreaUpTo(shape, from_u + (i - 0.5f));
    const float bent = 0.5f * a.per_w * r;
    amount *= shape.area > 0 && w > fabsf(g.half_a_w)
                  ? fmaf(-bent, bent, 1.f) * Reciprocal(shape.area)
                  : 0;
  }
  return make_float4(amount * (area[1] - area[0]), amount * (area[2] - area[1]),
                     amount * (area[3] - area[2]), amount * (area[4] - area[3]));
}

// By a part of a warp: what all voxels of a column that are seen give to the detector's columns.
__device__ void Spread(const FootprintView<float>& g, const Axial& a, const LeaningColumn& own,
                       float from_u, const float* volume, int lane, float4* value, float* edge) {
  const LeaningColumn c = own;  // in registers
  const int last = c.last + 1;
  int k = c.first + lane;
  float place = k - a.middle;
  const float* voxel = volume + c.voxels + k * a.stride;
  const int64_t step = kLanes * a.stride;
  const auto inside = [&] { return static_cast<unsigned>(k) < static_cast<unsigned>(a.n); };
  float x = inside() && k <= last ? __ldg(voxel) : 0;
  value += lane, edge += lane;
  while (k <= last) {
    const float own_x = x;
    const bool counts = inside();
    k += kLanes, voxel += step;
    x = inside() && k <= last ? __ldg(voxel) : 0;
    *edge = fmaf(a.per_v, place, c.v + 0.5f * a.per_v) *
            Reciprocal(fmaf(a.per_w, place, c.w + 0.5f * a.per_w));
    float4 to = make_float4(0, 0, 0, 0);
    if (counts) {
      const float along = fmaf(place, a.spacing, -a.source);
      // A rectangle is alike / (w² - per_w² / 4) long.
      to = SharesOf(g, a, c, own, place, from_u,
                    own_x * c.amount * RootOf(fmaf(along, along, c.across)));
    }
    *value = to;
    place += kLanes;
    value += kLanes, edge += kLanes;
  }
}

// Adds to rows from `low` on what they see of a column's voxels. kMany: of more than two.
template <bool kMany, int kRun>
__device__ void Gather(const LeaningColumn& c, float middle, const Edge& low, const float4* value,
                       const float* edge, float (&sum)[kRun][kWide]) {
  const int most = c.last - c.first;
  const int number = __float2int_rd(NumberAt(c, low, middle));
  int slot = min(max(number - c.first, 0), most);
  const float4 below = value[slot], above = value[slot + 1];
  const float end = edge[slot] - low.v;
#pragma unroll
  for (int row = 0; row < kRun; ++row) {
    const float share = __saturatef(row + 1 - end), rest = 1 - share;
    sum[row][0] = fmaf(share, above.x, fmaf(rest, below.x, sum[row][0]));
    sum[row][1] = fmaf(share, above.y, fmaf(rest, below.y, sum[row][1]));
    sum[row][2] = fmaf(share, above.z, fmaf(rest, below.z, sum[row][2]));
    sum[row][3] = fmaf(share, above.w, fmaf(rest, below.w, sum[row][3]));
  }
  if constexpr (kMany) {
    float4 before = above;
    while (++slot <= most) {
      const float next_end = edge[slot] - low.v;
      if (!(next_end < kRun)) break;
      const float4 next = value[slot + 1];
#pragma unroll
      for (int row = 0; row < kRun; ++row) {
        const float share = __saturatef(row + 1 - next_end);
        sum[row][0] = fmaf(share, next.x - before.x, sum[row][0]);
        sum[row][1] = fmaf(share, next.y - before.y, sum[row][1]);
        sum[row][2] = fmaf(share, next.z - before.z, sum[row][2]);
        sum[row][3] = fmaf(share, next.w - before.w, sum[row][3]);
      }
      before = next;
    }
  }
}

// A lane has kRuns runs of kRun rows, 32 runs apart.
template <int kRun, int kRuns>
__global__ __launch_bounds__(32 * kWarps, kBlocks) void LeaningKernel(
    const __grid_constant__ ProjectedViews<float> views, const VoxelLayout layout,
    const float* volume, int rows, int columns, int first_block, float* projections) {
  constexpr int kTall = 32 * kRun * kRuns;
  constexpr unsigned kAll = 0xffffffffu;
  __shared__ WarpMemory block[kWarps];
  const ProjectedView<float>& g = views.view[blockIdx.z];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_u = (blockIdx.x * kWarps + warp) * kWide;
  const int first_row = (first_block + blockIdx.y) * kTall;
  if (first_u >= columns) return;
  WarpMemory& memory = block[warp];
  const Axial a = AxialOf(g, layout);
  const float from_u = first_u - 0.5f * (columns - 1);
  // Rows beyond the last see nothing.
  const auto edge_at = [&](int row) { return EdgeAt(a, min(row, rows) - 0.5f * rows); };
  const Edge low = edge_at(first_row), high = edge_at(first_row + kTall);
  const auto row_of = [&](int run) { return first_row + (32 * run + lane) * kRun; };
  Edge own[kRuns];
#pragma unroll
  for (int run = 0; run < kRuns; ++run) own[run] = edge_at(row_of(run));
  const Bounds bounds = BoundsOf(g, from_u + 0.5f * (kWide - 1), 0.5f * (low.v + high.v),
                                 0.5f * kWide, 0.5f * (high.v - low.v));
  const int n_plane = Pick(layout.n, bounds.plane), n_across = Pick(layout.n, bounds.across);
  const int64_t plane_stride = Pick(layout.stride, bounds.plane);
  const int64_t across_stride = Pick(layout.stride, bounds.across);
  const float source_plane = Pick(g.source, bounds.plane);
  const float source_across = Pick(g.source, bounds.across);

  float sum[kRuns][kRun][kWide] = {};
  const auto gather = [&](auto many, int column, int i) {
#pragma unroll
    for (int run = 0; run < kRuns; ++run) {
      Gather<decltype(many)::value>(memory.column[column], a.middle, own[run], memory.value[i],
                                    memory.edge[i], sum[run]);
    }
  };
  const auto add = [&](int begin, int count) {
    const int part = lane / kLanes;
    bool many = count < kGroup;
    if (part < count) {
      const LeaningColumn& column = memory.column[begin + part];
      many = many || column.many;
      Spread(g.footprint, a, column, from_u, volume, lane % kLanes, memory.value[part],
             memory.edge[part]);
    }
    __syncwarp();
    if (__any_sync(kAll, many)) {
#pragma unroll 1
      for (int i = 0; i < count; ++i) gather(std::true_type{}, begin + i, i);
    } else {
#pragma unroll
      for (int i = 0; i < kGroup; ++i) gather(std::false_type{}, begin + i, i);
    }
    __syncwarp();
  };
  int held = 0;  // columns of voxels that are found, but not added
  for (int from = 0; from < n_plane; from += kPlanes) {
    const int i = from + lane / kAcross;
    const float at_plane = i - 0.5f * (n_plane - 1), distance = at_plane - source_plane;
    Span span{0, i < n_plane ? n_across - 1 : -1};
    if (bounds.bounded && i < n_plane) {
      span = SpanAround(fmaf(distance, bounds.slope, source_across),
                        fmaf(fabsf(distance), bounds.cone, bounds.reach), n_across);
    }
    const int most = __reduce_max_sync(kAll, span.last - span.first + 1);
    for (int skip = 0; skip < most; skip += kAcross) {
      const int j = span.first + skip + lane % kAcross;
      LeaningColumn found;
      bool reaches = false;
      if (j <= span.last) {
        const float at_across = j - 0.5f * (n_across - 1);
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
          found.at[axis] = axis == bounds.plane ? at_plane : axis == bounds.across ? at_across : 0;
        }
        found.voxels = a.begin + i * plane_stride + j * across_stride;
        reaches = See(g.footprint, a, from_u, low, high, kRun, found);
      }
      const unsigned reaching = __ballot_sync(kAll, reaches);
      if (reaches) memory.column[held + __popc(reaching & ((1u << lane) - 1))] = found;
      held += __popc(reaching);
      __syncwarp();
      int added = 0;
      for (; added + kGroup <= held; added += kGroup) add(added, kGroup);
      held -= added;
      if (added > 0 && lane < held) memory.column[lane] = memory.column[added + lane];
      __syncwarp();
    }
  }
  add(0, held);
#pragma unroll
  for (int run = 0; run < kRuns; ++run) {
#pragma unroll
    for (int row = 0; row < kRun; ++row) {
      const int at = row_of(run) + row;
      if (at >= rows) continue;
      float* const to =
          projections + (static_cast<int64_t>(blockIdx.z) * rows + at) * columns + first_u;
#pragma unroll
      for (int u = 0; u < kWide; ++u) {
        if (first_u + u < columns) to[u] += sum[run][row][u];
      }
    }
  }
}

}  // namespace

int LeaningRows(const ProjectedView<float>& view, const VolumeGrid& grid, const Shape3& stack) {
  const float(&m)[12] = view.footprint.m;
  const float per_v = std::abs(m[4 + view.axial]), per_w = std::abs(m[8 + view.axial]);
  // What v grows by per voxel is this over w.
  const float least = per_v - 0.5f * static_cast<float>(stack.middle) * per_w;
  if (!(least > 0.25f * per_v)) return 0;
  const float deepest = m[11] + 0.5f * (std::abs(m[8]) * grid.nx + std::abs(m[9]) * grid.ny +
                                        std::abs(m[10]) * grid.nz);
  constexpr float kMore = 3.5f;  // where rows begin and end within voxels, and one beyond
  for (const int rows : {128, 64, 32}) {
    if (rows * deepest / least + kMore <= kSlots) return rows;
  }
  return 0;
}

absl::Status LaunchFootprintLeaning(const ProjectedViews<float>& views, int count, int warp_rows,
                                    const VoxelLayout& layout, const float* volume,
                                    const Shape3& stack, RowRange seen, float* projections,
                                    cudaStream_t stream) {
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  // Blocks begin at the same rows whatever is seen, so that sums do not depend on how views are
  // divided.
  const int first_block = seen.first / warp_rows;
  const dim3 blocks((columns + kWide * kWarps - 1) / (kWide * kWarps),
                    (seen.end() + warp_rows - 1) / warp_rows - first_block, count);
  const auto kernel = warp_rows == 128  ? LeaningKernel<2, 2>
                      : warp_rows == 64 ? LeaningKernel<2, 1>
                                        : LeaningKernel<1, 1>;
  kernel<<<blocks, 32 * kWarps, 0, stream>>>(views, layout, volume, rows, columns, first_block,
                                             projections);
  return ToStatus(cudaGetLastError(), "LeaningKernel");
}

}  // namespace isocenter::cuda
