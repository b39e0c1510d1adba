// Back-projection where neighbouring voxels along z see neighbouring detector rows, as on every
// C-arm: a block of voxels reads a short window of two or three detector columns into registers
// and picks its samples there; where voxels lie so many rows apart that no few registers hold them,
// it loads each. Included once per target by Highway's foreach_target, for targets that can permute
// across a register (AVX2, AVX-512).
//
// A patch of voxel columns is done at a time, one view after the other, in two steps:
//   1. BlockTable::Build, one lane per voxel column, computes what each block needs (exact at its
//      ends, linear in between) and sorts the blocks by how they must be done. Blocks that the
//      detector does not see are dropped here.
//   2. AddWindows, one lane per voxel, runs through each list without a branch.

#if defined(ISOCENTER_KERNELS_CPU_BACKPROJECT_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_BACKPROJECT_WINDOWS_INL_H_
#undef ISOCENTER_KERNELS_CPU_BACKPROJECT_WINDOWS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_BACKPROJECT_WINDOWS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/fdk/backproject_gather-inl.h"
#include "kernels/cpu/fdk/backproject_job.h"
#include "kernels/cpu/fdk/backproject_limits.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

inline constexpr int kPatchX = 4, kPatchY = kLanes / kPatchX;  // voxel columns of a patch
inline constexpr int kMaxWindow = 4;                           // registers per detector column
inline constexpr int kTableBlocks = kBoxHeight;                // of all columns of a patch

// Where the first voxel of a block of each of a patch's columns is seen, in pixels relative to one
// near the patch, so that float32 keeps the digits that matter.
struct BlockPosition {
  V u, v, w, inverse, weight;
};

// The positions of all blocks, which follow each other along z.
class PatchLines {
 public:
  HWY_INLINE PatchLines(const BackprojectView& view, const VoxelBox& patch, double near_u,
                        double near_v, V x, V y) {
    const D d;
    const auto& m = view.matrix.m;
    const auto start = [&](int row, double near) HWY_ATTR {
      const double* r = m.data() + 4 * row;
      const double* w = m.data() + 8;
      const double first = (r[0] - near * w[0]) * patch.x0 + (r[1] - near * w[1]) * patch.y0 +
                           (r[2] - near * w[2]) * patch.z0 + (r[3] - near * w[3]);
      return hn::MulAdd(y, hn::Set(d, static_cast<float>(r[1] - near * w[1])),
                        hn::MulAdd(x, hn::Set(d, static_cast<float>(r[0] - near * w[0])),
                                   hn::Set(d, static_cast<float>(first))));
    };
    const auto step = [&](int row, double near) HWY_ATTR {
      return hn::Set(d, static_cast<float>((m[4 * row + 2] - near * m[10]) * kLanes));
    };
    u_start_ = start(0, near_u), v_start_ = start(1, near_v), w_start_ = start(2, 0);
    u_step_ = step(0, near_u), v_step_ = step(1, near_v), w_step_ = step(2, 0);
  }

  HWY_INLINE BlockPosition At(int block) const {
    const V k = hn::Set(D(), static_cast<float>(block));
    BlockPosition p;
    p.w = hn::MulAdd(k, w_step_, w_start_);
    p.inverse = Reciprocal(p.w);
    p.u = hn::Mul(hn::MulAdd(k, u_step_, u_start_), p.inverse);
    p.v = hn::Mul(hn::MulAdd(k, v_step_, v_start_), p.inverse);
    p.weight = hn::Mul(p.inverse, p.inverse);
    return p;
  }

 private:
  V u_start_, v_start_, w_start_, u_step_, v_step_, w_step_;
};

// What tells blocks that are seen and regular from others. A block reaches from `first` to `last`,
// one voxel behind it.
class BlockKinds {
 public:
  using M = hn::Mask<D>;

  HWY_INLINE BlockKinds(const BackprojectView& view, const VoxelBox& patch, double near_u,
                        double near_v, V x, V y) {
    const D d;
    inside_ = hn::And(hn::Lt(x, hn::Set(d, static_cast<float>(patch.x1 - patch.x0))),
                      hn::Lt(y, hn::Set(d, static_cast<float>(patch.y1 - patch.y0))));
    u_low_ = hn::Set(d, static_cast<float>(-1 - near_u));
    u_high_ = hn::Set(d, static_cast<float>(view.columns - near_u));
    v_low_ = hn::Set(d, static_cast<float>(-1 - near_v));
    v_high_ = hn::Set(d, static_cast<float>(view.rows - near_v));
  }

  HWY_INLINE M InFront(const BlockPosition& first, const BlockPosition& last) const {
    const V least_depth = hn::Set(D(), static_cast<float>(kLeastDepth));
    return hn::And(hn::Gt(first.w, least_depth), hn::Gt(last.w, least_depth));
  }

  HWY_INLINE M Seen(const BlockPosition& first, const BlockPosition& last, M in_front) const {
    const V zero = hn::Zero(D());
    const M behind = hn::And(hn::Le(first.w, zero), hn::Le(last.w, zero));
    const M on_detector = hn::And(hn::And(hn::Gt(hn::Max(first.u, last.u), u_low_),
                                          hn::Lt(hn::Min(first.u, last.u), u_high_)),
                                  hn::And(hn::Gt(hn::Max(first.v, last.v), v_low_),
                                          hn::Lt(hn::Min(first.v, last.v), v_high_)));
    // Where w changes sign the ends say nothing.
    return hn::And(inside_,
                   hn::Or(hn::And(in_front, on_detector), hn::Not(hn::Or(in_front, behind))));
  }

  // Of blocks in front: whether u and v are nearly lines, `bend` off in the middle for v, that stay
  // within three columns and, at the detector's edge, within its margin.
  HWY_INLINE M Regular(const BlockPosition& first, const BlockPosition& last, float bend, V span_u,
                       V span_v) const {
    const D d;
    // A quarter of the relative change of w times the change of a position is its bend.
    const V quarter = hn::Mul(hn::Mul(hn::Sub(last.w, first.w), hn::Set(d, 0.25f)), last.inverse);
    const V bend_u = hn::Abs(hn::Mul(hn::Sub(last.u, first.u), quarter));
    const V bend_v = hn::Abs(hn::NegMulAdd(hn::Sub(last.v, first.v), quarter, hn::Set(d, bend)));
    const M straight =
        hn::And(hn::Lt(hn::Max(bend_u, bend_v), hn::Set(d, static_cast<float>(kMaxBend))),
                hn::Lt(hn::Abs(quarter), hn::Set(d, static_cast<float>(kMaxDepthChange / 4))));
    const V longest = hn::Set(d, static_cast<float>(ColumnLayout::kRowMargin - 2));
    return hn::And(straight, hn::And(hn::Lt(span_u, hn::Set(d, 2.0f)), hn::Lt(span_v, longest)));
  }

 private:
  M inside_;
  V u_low_, u_high_, v_low_, v_high_;
};

// How far the positions of a block reach from its window's first pixel.
struct BlockSpan {
  V u, v;
};

// The blocks of one patch and view; index = (block along z) * kLanes + column of the patch.
struct HWY_ALIGN_MAX BlockTable {
  // Position of the first voxel relative to the window's first pixel, weight 1/w², and what they
  // change by from voxel to voxel.
  float u[kTableBlocks], du[kTableBlocks];
  float v[kTableBlocks], dv[kTableBlocks];
  float weight[kTableBlocks], dweight[kTableBlocks];
  int32_t offset[kTableBlocks];  // of the window's first pixel from `image`
  const float* image;
  float bend;  // of v in the middle of every block
  // Registers that hold the window of a detector column in every block; beyond kMaxWindow none do.
  int window;
  // Registers that hold it but for the last pixel in the blocks of short_columns; 0: there are
  // none.
  int short_window;
  // Blocks whose u stays between two columns, apart from those in short_columns; those whose u
  // crosses one, and those that are not regular enough. A vector more is written than counts.
  int32_t two_columns[kTableBlocks + kLanes];
  int32_t short_columns[kTableBlocks + kLanes];
  int32_t three_columns[kTableBlocks + kLanes];
  int32_t irregular[kTableBlocks + kLanes];
  int two_count, short_count, three_count, irregular_count;

  // With kRegular, IsRegularEverywhere holds for a box around the patch and the patch is whole.
  template <bool kRegular>
  void Build(const BackprojectView& view, const VoxelBox& patch);

 private:
  // Writes the block of each column from index `at` on.
  BlockSpan Store(int at, const BlockPosition& first, const BlockPosition& last, VI stride);
  // Lists blocks of two and of three columns. `need`: the longest window so far of those that are
  // not short.
  void AppendRegular(VI index, V span_v, V short_span, hn::Mask<D> two, hn::Mask<D> three, V& need);
};

HWY_INLINE BlockSpan BlockTable::Store(int at, const BlockPosition& first,
                                       const BlockPosition& last, VI stride) {
  const D d;
  const DI di;
  const V per_voxel = hn::Set(d, 1.0f / kLanes), to_last = hn::Set(d, kLanes - 1.0f);
  const V step_u = hn::Mul(hn::Sub(last.u, first.u), per_voxel);
  const V step_v = hn::Mul(hn::Sub(last.v, first.v), per_voxel);
  const V last_u = hn::MulAdd(step_u, to_last, first.u);
  const V last_v = hn::MulAdd(step_v, to_last, first.v);
  const V window_u = hn::Floor(hn::Min(first.u, last_u));
  const V window_v = hn::Floor(hn::Min(first.v, last_v));
  hn::Store(hn::Sub(first.u, window_u), d, u + at);
  hn::Store(step_u, d, du + at);
  hn::Store(hn::Sub(first.v, window_v), d, v + at);
  hn::Store(step_v, d, dv + at);
  hn::Store(first.weight, d, weight + at);
  hn::Store(hn::Mul(hn::Sub(last.weight, first.weight), per_voxel), d, dweight + at);
  hn::Store(hn::Add(hn::Mul(hn::ConvertTo(di, window_u), stride), hn::ConvertTo(di, window_v)), di,
            offset + at);
  return {hn::Sub(hn::Max(first.u, last_u), window_u), hn::Sub(hn::Max(first.v, last_v), window_v)};
}

HWY_INLINE void BlockTable::AppendRegular(VI index, V span_v, V short_span, hn::Mask<D> two,
                                          hn::Mask<D> three, V& need) {
  const auto fits = hn::And(two, hn::Lt(span_v, short_span));
  const auto longer = hn::AndNot(fits, two);
  Append(index, fits, short_columns, short_count);
  Append(index, longer, two_columns, two_count);
  Append(index, three, three_columns, three_count);
  need = hn::Max(need, hn::IfThenElseZero(hn::Or(longer, three), span_v));
}

// Registers that hold the rows of most blocks around `centre` but for the last one; 0 where they
// hold that, too. To the nearest number: what does not fit goes the other way.
inline int ShortWindow(const BackprojectView& view, const Projected& centre) {
  if (!(centre.w > kLeastDepth)) return 0;
  const auto& m = view.matrix.m;
  const double span = (kLanes - 1) * std::abs((m[6] - centre.v() * m[10]) / centre.w);
  // The first row lies within one of the window's begin.
  const int window = std::max(1, static_cast<int>(std::lround((span + 0.5) / kLanes)));
  return window < kMaxWindow && span + 2 > window * kLanes ? window : 0;
}

template <bool kRegular>
void BlockTable::Build(const BackprojectView& view, const VoxelBox& patch) {
  const D d;
  const DI di;
  const int blocks = (patch.z1 - patch.z0 + kLanes - 1) / kLanes;
  two_count = short_count = three_count = irregular_count = 0;

  const Projected centre = view.matrix.Project(
      {0.5 * (patch.x0 + patch.x1), 0.5 * (patch.y0 + patch.y1), 0.5 * (patch.z0 + patch.z1)});
  double near_u = 0, near_v = 0;
  if (centre.w > 0) {
    near_u = std::floor(std::clamp(centre.u(), 0.0, static_cast<double>(view.columns)));
    near_v = std::floor(std::clamp(centre.v(), 0.0, static_cast<double>(view.rows)));
  }
  image = view.image + static_cast<int64_t>(near_u) * view.stride + static_cast<int64_t>(near_v);
  bend = static_cast<float>(BendAtCentre(view, patch, kLanes));
  const VI lane = hn::Iota(di, 0);
  const V x = hn::ConvertTo(d, hn::And(lane, hn::Set(di, kPatchX - 1)));
  const V y = hn::ConvertTo(d, hn::ShiftRight<2>(lane));
  const PatchLines lines(view, patch, near_u, near_v, x, y);
  const BlockKinds kinds(view, patch, near_u, near_v, x, y);
  const VI stride = hn::Set(di, static_cast<int32_t>(view.stride));
  short_window = ShortWindow(view, centre);
  const V short_span = hn::Set(d, static_cast<float>(short_window * kLanes - kSlack));
  V need = hn::Zero(d);
  BlockPosition first = lines.At(0);
  for (int block = 0; block < blocks; ++block) {
    const BlockPosition last = lines.At(block + 1);  // the next one's first
    const BlockSpan span = Store(block * kLanes, first, last, stride);
    const auto crossing = hn::Ge(span.u, hn::Set(d, 1.0f));
    const VI index = hn::Add(lane, hn::Set(di, block * kLanes));
    if constexpr (kRegular) {
      AppendRegular(index, span.v, short_span, hn::Not(crossing), crossing, need);
    } else {
      const auto in_front = kinds.InFront(first, last);
      const auto seen = kinds.Seen(first, last, in_front);
      const auto regular = hn::And(in_front, kinds.Regular(first, last, bend, span.u, span.v));
      const auto used = hn::And(seen, regular);
      AppendRegular(index, span.v, short_span, hn::AndNot(crossing, used), hn::And(crossing, used),
                    need);
      const auto rest = hn::AndNot(regular, seen);
      if (!hn::AllFalse(d, rest)) Append(index, rest, irregular, irregular_count);
    }
    first = last;
  }
  // The last sample lies one behind the last position.
  const double last_sample = hn::GetLane(hn::MaxOfLanes(d, need)) + 1 + kSlack;
  window = 1 + static_cast<int>(last_sample) / kLanes;
}

// Adds kBlocks blocks of a list at once, stage by stage, so that their long chains of dependent
// instructions overlap.
template <class Picker, int kColumns, int kBlocks>
HWY_INLINE void AddBlocks(const BlockTable& table, const int32_t* list, int64_t stride,
                          const int32_t* voxel_offset, float* voxels, V lane, V curve) {
  const D d;
  const float* pixels[kBlocks];
  V v[kBlocks], fraction[kBlocks], u[kBlocks];
  Picker picker[kBlocks];
  for (int b = 0; b < kBlocks; ++b) {
    const int32_t i = list[b];
    pixels[b] = table.image + table.offset[i];
    v[b] = hn::MulAdd(lane, hn::Set(d, table.dv[i]), hn::Add(curve, hn::Set(d, table.v[i])));
  }
  for (int b = 0; b < kBlocks; ++b) {
    const VI index = WholePart(v[b]);
    fraction[b] = hn::Sub(v[b], hn::ConvertTo(d, index));
    picker[b] = Picker(index);
  }
  for (int b = 0; b < kBlocks; ++b) {
    const int32_t i = list[b];
    u[b] = hn::MulAdd(lane, hn::Set(d, table.du[i]), hn::Set(d, table.u[i]));
  }
  V column[kColumns][kBlocks];
  for (int c = 0; c < kColumns; ++c) {
    for (int b = 0; b < kBlocks; ++b) {
      const Pair rows = picker[b].From(pixels[b] + c * stride);
      column[c][b] = hn::MulAdd(fraction[b], hn::Sub(rows.high, rows.low), rows.low);
    }
  }
  for (int b = 0; b < kBlocks; ++b) {
    const int32_t i = list[b];
    V value;
    if constexpr (kColumns == 2) {
      value = hn::MulAdd(u[b], hn::Sub(column[1][b], column[0][b]), column[0][b]);
    } else {
      const V unit = hn::Set(d, 1.0f);
      const V left = hn::Min(u[b], unit), right = hn::Max(hn::Sub(u[b], unit), hn::Zero(d));
      value = hn::MulAdd(left, hn::Sub(column[1][b], column[0][b]), column[0][b]);
      value = hn::MulAdd(right, hn::Sub(column[2][b], column[1][b]), value);
    }
    const V weight = hn::MulAdd(lane, hn::Set(d, table.dweight[i]), hn::Set(d, table.weight[i]));
    float* target = voxels + voxel_offset[i];
    hn::Store(hn::MulAdd(weight, value, hn::Load(d, target)), d, target);
  }
}

template <class Picker, int kColumns>
HWY_INLINE void AddList(const BlockTable& table, const int32_t* list, int count, int64_t stride,
                        const int32_t* voxel_offset, float* voxels) {
  const D d;
  const V lane = Pinned(hn::Iota(d, 0.0f));
  // bend · 4t(1 - t) with t from 0 to 1 along the block.
  const V curve = Pinned(hn::Mul(hn::Mul(lane, hn::Sub(hn::Set(d, kLanes), lane)),
                                 hn::Set(d, table.bend * 4 / (kLanes * kLanes))));
  constexpr int kAtOnce = 2;
  int i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    AddBlocks<Picker, kColumns, kAtOnce>(table, list + i, stride, voxel_offset, voxels, lane,
                                         curve);
  }
  for (; i < count; ++i) {
    AddBlocks<Picker, kColumns, 1>(table, list + i, stride, voxel_offset, voxels, lane, curve);
  }
}

template <class Picker>
void AddWindows(const BlockTable& table, int64_t stride, const int32_t* voxel_offset,
                float* voxels) {
  AddList<Picker, 2>(table, table.two_columns, table.two_count, stride, voxel_offset, voxels);
  AddList<Picker, 3>(table, table.three_columns, table.three_count, stride, voxel_offset, voxels);
}

template <int kWindow>
void AddShortWindows(const BlockTable& table, int64_t stride, const int32_t* voxel_offset,
                     float* voxels) {
  AddList<PairPicker<kWindow, Windows::kTwo>, 2>(table, table.short_columns, table.short_count,
                                                 stride, voxel_offset, voxels);
}

// Adds one view to a patch; `regular` as in BlockTable::Build. `voxels` is its first voxel,
// voxel_offset the distance from there of each block of the table.
inline void AddPatch(const BackprojectView& view, const VoxelBox& patch, bool regular,
                     const int32_t* voxel_offset, float* voxels, BlockTable& table) {
  if (regular) {
    table.Build<true>(view, patch);
  } else {
    table.Build<false>(view, patch);
  }
  switch (table.short_window) {
    case 0:
      break;
    case 1:
      AddShortWindows<1>(table, view.stride, voxel_offset, voxels);
      break;
    case 2:
      AddShortWindows<2>(table, view.stride, voxel_offset, voxels);
      break;
    default:
      AddShortWindows<3>(table, view.stride, voxel_offset, voxels);
      break;
  }
  switch (table.window) {
    case 1:
      AddWindows<PairPicker<1, Windows::kOne>>(table, view.stride, voxel_offset, voxels);
      break;
    case 2:
      AddWindows<PairPicker<2, Windows::kOne>>(table, view.stride, voxel_offset, voxels);
      break;
    case 3:
      AddWindows<PairPicker<3, Windows::kOne>>(table, view.stride, voxel_offset, voxels);
      break;
    case 4:
      AddWindows<PairPicker<4, Windows::kOne>>(table, view.stride, voxel_offset, voxels);
      break;
    default:
      AddWindows<ScatteredPairPicker>(table, view.stride, voxel_offset, voxels);
      break;
  }
  for (int i = 0; i < table.irregular_count; ++i) {
    const int32_t index = table.irregular[i];
    const int column = index % kLanes;
    GatherBlock(view, patch.x0 + column % kPatchX, patch.y0 + column / kPatchX,
                patch.z0 + index / kLanes * kLanes, voxels + voxel_offset[index]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX3 or AVX2
#endif  // per-target include guard
