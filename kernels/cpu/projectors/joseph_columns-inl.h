// Joseph's sums along all rays of a detector column, where neighbouring rows see neighbouring
// voxels along z, as on every C-arm: the rays are set up once, then all of them go from plane to
// plane together. In a plane they lie on a line that rarely leaves two columns of voxels, of which
// each block of rows reads a short run into registers and picks its samples there. Included once
// per target by Highway's foreach_target, for AVX2: nobody has run it on AVX-512 (ADR 0144).

#if defined(ISOCENTER_KERNELS_CPU_JOSEPH_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_JOSEPH_COLUMNS_INL_H_
#undef ISOCENTER_KERNELS_CPU_JOSEPH_COLUMNS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_JOSEPH_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "hwy/highway.h"
#include "kernels/cpu/projectors/project_columns-inl.h"

#if HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

// So many that what one detector column sees of them is still in the second cache for the next.
inline constexpr int kJosephPlanes = 128;

// A block of rows, lanes in the order of z. b counts from the column's first voxel along b, c from
// the first voxel that the block sees, which is at `offset` in plane 0 and b = 0.
struct HWY_ALIGN_MAX JosephBlock {
  V b, slope_b, c, slope_c, sum, length;
  BlockEnds ends_b;
  int64_t offset;
  VI last_start;     // windows do not begin after this c: they stay in their column
  int first, count;  // planes that are done here
  int rows, first_row;
  bool turned;  // rows go down along z
  HWY_INLINE bool Has(int plane) const {
    return static_cast<unsigned>(plane - first) < static_cast<unsigned>(count);
  }
  HWY_INLINE float Least(float plane) const {
    return std::min(ends_b.start[0] + plane * ends_b.slope[0],
                    ends_b.start[1] + plane * ends_b.slope[1]);
  }
  HWY_INLINE float Most(float plane) const {
    return std::max(ends_b.start[0] + plane * ends_b.slope[0],
                    ends_b.start[1] + plane * ends_b.slope[1]);
  }
};

// The first lane in all lanes.
HWY_INLINE VI FirstInAll(VI value) {
  return VI{_mm256_broadcastd_epi32(_mm256_castsi256_si128(value.raw))};
}

// Less than float32 knows of where a ray is, in voxels.
inline constexpr float kSameB = 3e-5f;

// How the rays of some blocks lie along b in a plane: all at the same place, in which case voxels
// are blended before samples are picked from them; between two voxel columns; in up to three.
enum class Along { kOnePlace, kTwoColumns, kThreeColumns };

// Adds a plane of voxels to some blocks; the first of their voxel columns is `column`.
template <int kWindow, Along kAlong>
HWY_INLINE void AddPlaneToBlocks(JosephBlock* block, const JosephBlock* end, int plane, int column,
                                 const float* voxels, int64_t stride_b) {
  const D d;
  const DI di;
  const V at = hn::Set(d, static_cast<float>(plane));
  const V first_b = hn::Set(d, static_cast<float>(column));
  const VI one = hn::Set(di, 1);
  const V place = hn::Set(d, block->Least(static_cast<float>(plane)) - static_cast<float>(column));
  constexpr int kColumns = kAlong == Along::kThreeColumns ? 3 : 2;
  voxels += column * stride_b;
  for (; block < end; ++block) {
    if (!block->Has(plane)) continue;
    const V c = hn::MulAdd(at, block->slope_c, block->c);
    const VI whole = WholePart(c);
    const VI start = hn::Min(FirstInAll(whole), block->last_start);
    const float* const window = voxels + block->offset + hn::GetLane(start);
    const V share = hn::Sub(c, hn::ConvertTo(d, whole));
    const VI index = hn::Sub(whole, start), next = hn::Add(index, one);
    const auto high_index = High<kWindow>(index), high_next = High<kWindow>(next);
    if constexpr (kAlong == Along::kOnePlace) {
      V run[kWindow];
      for (int r = 0; r < kWindow; ++r) {
        const V left = hn::LoadU(d, window + r * kLanes);
        const V right = hn::LoadU(d, window + stride_b + r * kLanes);
        run[r] = hn::MulAdd(place, hn::Sub(right, left), left);
      }
      const V low = Pick<kWindow>(run, index, high_index);
      const V more = hn::Sub(Pick<kWindow>(run, next, high_next), low);
      block->sum = hn::Add(block->sum, hn::MulAdd(share, more, low));
      continue;
    }
    V b = hn::Sub(hn::MulAdd(at, block->slope_b, block->b), first_b);
    V value[kColumns];
    for (int i = 0; i < kColumns; ++i) {
      V run[kWindow];
      for (int r = 0; r < kWindow; ++r) {
        run[r] = Pinned(hn::LoadU(d, window + i * stride_b + r * kLanes));
      }
      const V low = Pick<kWindow>(run, index, high_index);
      value[i] = hn::MulAdd(share, hn::Sub(Pick<kWindow>(run, next, high_next), low), low);
    }
    if constexpr (kAlong == Along::kThreeColumns) {
      const V unit = hn::Set(d, 1.0f);
      const auto second = hn::Ge(b, unit);
      b = hn::Sub(b, hn::IfThenElseZero(second, unit));
      value[0] = hn::IfThenElse(second, value[1], value[0]);
      value[1] = hn::IfThenElse(second, value[2], value[1]);
    }
    block->sum = hn::Add(block->sum, hn::MulAdd(b, hn::Sub(value[1], value[0]), value[0]));
  }
}

// Adds a plane to all blocks, which follow each other along b.
template <int kWindow>
HWY_INLINE void AddPlane(std::vector<JosephBlock>& blocks, int plane, const float* voxels,
                         int64_t stride_b) {
  const auto at = static_cast<float>(plane);
  JosephBlock* block = blocks.data();
  JosephBlock* const end = block + blocks.size();
  while (block < end) {
    const auto column = static_cast<int>(std::floor(block->Least(at)));
    const auto within = [&](const JosephBlock& other) {
      return other.Least(at) >= static_cast<float>(column) &&
             other.Most(at) <= static_cast<float>(column + 1);
    };
    if (!within(*block)) {
      AddPlaneToBlocks<kWindow, Along::kThreeColumns>(block, block + 1, plane, column, voxels,
                                                      stride_b);
      ++block;
      continue;
    }
    JosephBlock* const behind =
        within(end[-1]) ? end : std::partition_point(block + 1, end, within);
    if (std::max(behind[-1].Most(at), block->Most(at)) -
            std::min(behind[-1].Least(at), block->Least(at)) <
        kSameB) {
      AddPlaneToBlocks<kWindow, Along::kOnePlace>(block, behind, plane, column, voxels, stride_b);
    } else {
      AddPlaneToBlocks<kWindow, Along::kTwoColumns>(block, behind, plane, column, voxels, stride_b);
    }
    block = behind;
  }
}

// `rays` for planes in which all of them are `inside`, or for none. b is counted from `base_b`;
// what is around these planes is in its sum.
HWY_INLINE JosephBlock MakeJosephBlock(const ForwardJob& job, const RayView& view,
                                       const RayBlock& rays, const BlockInGrid& in,
                                       PlaneRange inside, RayAxes axes, int base_b, int row) {
  const D d;
  float low = in.ends_c.At(0, inside.first);
  for (int i = 0; i < 2 && !inside.empty(); ++i) {
    low = std::min({low, in.ends_c.At(i, inside.first), in.ends_c.At(i, inside.last - 1)});
  }
  low = std::floor(low);
  JosephBlock block;
  block.turned = in.ends_c.At(1, 0) < in.ends_c.At(0, 0);
  const auto upright = [&](V value)
                           HWY_ATTR { return block.turned ? hn::Reverse(d, value) : value; };
  const V shift_b = hn::Set(d, static_cast<float>(rays.base_b - base_b));
  block.b = upright(hn::Add(rays.b, shift_b));
  block.slope_b = upright(rays.slope_b);
  block.c = upright(hn::Sub(rays.c, hn::Set(d, low)));
  block.slope_c = upright(rays.slope_c);
  block.ends_b = EndsOf(block.b, block.slope_b);
  const int start = rays.base_c + static_cast<int>(low);
  block.offset = start;
  block.first_row = row;
  block.rows = view.rows - row;
  block.first = inside.first;
  block.count = inside.last - inside.first;
  block.length = rays.length;
  block.last_start = hn::Set(DI(), static_cast<int32_t>(job.volume.stride[0]) - start);
  block.sum = upright(
      AddAround<Joseph>(rays, in, inside, job.volume, GridVoxels{job.voxels}, axes, hn::Zero(d)));
  return block;
}

/// Adds the planes [first, last) of the rays' major axis to the pixels of column u. False: it was
/// left undone, since rows have several headings, go along z or lie too far apart or too close.
/// `blocks` is scratch memory.
HWY_INLINE bool AddJosephColumn(const ForwardJob& job, const RayView& view, int u, int first,
                                int last, std::vector<JosephBlock>& blocks) {
  constexpr float kLeastSpread = 0.01f;  // of a block along z: lanes keep their order
  const D d;
  Heading heading;
  if (view.rows < kRays || !view.IsUniform(u, 0, view.rows - 1, heading)) return false;
  const RayAxes axes(heading.axis);
  if (axes.c != 2) return false;
  last = std::min(last, job.volume.size[axes.a]);
  if (first >= last) return true;
  const PlaneRun planes = PlanesInFront(view.source[axes.a], heading, first, last);
  if (planes.count() <= 0) return true;
  blocks.resize(static_cast<size_t>((view.rows + kRays - 1) / kRays));
  int window = 1, base_b = 0, reference = 0;
  PlaneRange done{0, 0};  // by any block
  for (int row = 0; row < view.rows; row += kRays) {
    const RayBlock rays = MakeRayBlock<Joseph>(view, job.volume, axes, u, row, false, planes);
    const BlockInGrid in(rays, job.volume, axes, planes);
    PlaneRange inside = in.Inside();
    if (row == 0) {
      base_b = rays.base_b;
      reference = rays.reference;  // of all: it follows from the planes
      const float spread =
          std::min(in.ends_c.Spread(in.all.first), in.ends_c.Spread(in.all.last - 1));
      if (!(spread > kLeastSpread)) return false;
    }
    const int needed =
        inside.empty() ? 1 : WindowFor(job.volume, axes, inside, in.ends_b, in.ends_c);
    if (needed == 0) return false;
    window = std::max(window, needed);
    if (inside.empty()) inside = {in.all.first, in.all.first};
    blocks[row / kRays] = MakeJosephBlock(job, view, rays, in, inside, axes, base_b, row);
    done = Hull(done, inside);
  }
  const int64_t stride_a = job.volume.stride[axes.a], stride_b = job.volume.stride[axes.b];
  if (window * kLanes > job.volume.stride[0]) return false;
  for (JosephBlock& block : blocks) {
    block.last_start = hn::Sub(block.last_start, hn::Set(DI(), window * kLanes));
  }
  const float* from = job.voxels + base_b * stride_b + reference * stride_a;
  const auto go = [&](auto add) HWY_ATTR {
    for (int plane = done.first; plane < done.last; ++plane) add(plane, from + plane * stride_a);
  };
  switch (window) {
    case 1:
      go([&](int plane, const float* at) HWY_ATTR { AddPlane<1>(blocks, plane, at, stride_b); });
      break;
    case 2:
      go([&](int plane, const float* at) HWY_ATTR { AddPlane<2>(blocks, plane, at, stride_b); });
      break;
    case 3:
      go([&](int plane, const float* at) HWY_ATTR { AddPlane<3>(blocks, plane, at, stride_b); });
      break;
    default:
      go([&](int plane, const float* at) HWY_ATTR { AddPlane<4>(blocks, plane, at, stride_b); });
      break;
  }
  for (const JosephBlock& block : blocks) {
    const V sum = block.turned ? hn::Reverse(d, block.sum) : block.sum;
    AddToRows(job, view, u, block.first_row, block.rows, hn::Mul(sum, block.length));
  }
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX2
#endif  // per-target include guard
