// The adjoint where neighbouring detector rows see neighbouring voxels along z, less than a voxel
// apart: what the rays of a block add to a voxel column is summed up in registers and then added to
// a short run of the column. Included once per target by Highway's foreach_target, for targets that
// can permute across a register (AVX2, AVX-512).
//
// With lanes in the order of z, the lower neighbours' indices go up by 0 or 1 from lane to lane.
// The rays that share one are a group of neighbouring lanes: its sum, found in its first lane,
// moves to the lane that is the index less that of the first lane.

#if defined(ISOCENTER_KERNELS_CPU_SCATTER_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_SCATTER_WINDOWS_INL_H_
#undef ISOCENTER_KERNELS_CPU_SCATTER_WINDOWS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_SCATTER_WINDOWS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/projectors/lane_groups-inl.h"
#include "kernels/cpu/projectors/plane_table-inl.h"
#include "kernels/cpu/projectors/ray_block-inl.h"
#include "kernels/cpu/projectors/ray_corners-inl.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

// Adds to a run of a voxel column what the rays give to their lower and upper voxels in it.
template <int kLevels>
HWY_INLINE void AddGroups(const LaneGroups<kLevels>& groups, V lower, V upper, float* column) {
  const D d;
  const V sum = hn::Add(groups.Sums(lower), OneLaneUp(groups.Sums(upper)));
  hn::StoreU(hn::Add(hn::LoadU(d, column), sum), d, column);
}

template <class Model, int kLevels, int kColumns>
HWY_INLINE void ScatterPlanes(const RayBlock& block, const PlaneTable& table, const int32_t* list,
                              int count, float* voxels, int64_t stride_a, int64_t stride_b,
                              V pixels) {
  const D d;
  const DI di;
  const V one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  for (int n = 0; n < count; ++n) {
    const int32_t i = list[n];
    const V plane = hn::Set(d, table.plane[i]);
    const V c = hn::MulAdd(plane, block.slope_c, hn::Sub(block.c, hn::Set(d, table.c[i])));
    V b = hn::MulAdd(plane, block.slope_b, hn::Sub(block.b, hn::Set(d, table.b[i])));
    const VI index = WholePart(c);
    const V next = hn::ConvertTo(d, hn::Add(index, hn::Set(di, 1)));
    hn::Mask<D> second{};
    if constexpr (kColumns == 3) {
      second = hn::Ge(b, one);
      b = hn::Sub(b, hn::IfThenElseZero(second, one));
    }
    const Corners corners =
        CornersOf<Model>(pixels, Model::Share(hn::Sub(one, b), block.inverse_b),
                         Model::Share(hn::Sub(next, c), block.inverse_c), block.agree);
    const LaneGroups<kLevels> groups(index);
    float* column =
        voxels + i * stride_a + table.column[i] * stride_b + table.row[i] + hn::GetLane(index);
    if constexpr (kColumns == 2) {
      AddGroups(groups, corners.ll, corners.lu, column);
      AddGroups(groups, corners.ul, corners.uu, column + stride_b);
    } else {
      AddGroups(groups, hn::IfThenElse(second, zero, corners.ll),
                hn::IfThenElse(second, zero, corners.lu), column);
      AddGroups(groups, hn::IfThenElse(second, corners.ll, corners.ul),
                hn::IfThenElse(second, corners.lu, corners.uu), column + stride_b);
      AddGroups(groups, hn::IfThenElse(second, corners.ul, zero),
                hn::IfThenElse(second, corners.uu, zero), column + 2 * stride_b);
    }
  }
}

template <class Model, int kLevels>
void ScatterTable(const RayBlock& block, const PlaneTable& table, float* voxels, int64_t stride_a,
                  int64_t stride_b, V pixels) {
  ScatterPlanes<Model, kLevels, 2>(block, table, table.two_columns, table.two_count, voxels,
                                   stride_a, stride_b, pixels);
  ScatterPlanes<Model, kLevels, 3>(block, table, table.three_columns, table.three_count, voxels,
                                   stride_a, stride_b, pixels);
}

HWY_INLINE void ReverseLanes(RayBlock& block) {
  const D d;
  for (V* lanes :
       {&block.b, &block.c, &block.slope_b, &block.slope_c, &block.inverse_b, &block.inverse_c}) {
    *lanes = hn::Reverse(d, *lanes);
  }
  block.agree = Agree(block.slope_b, block.slope_c);
}

/// Adds `pixels` to the planes where it can, all samples inside of the grid, and returns them: one
/// range of those in `all`, perhaps empty.
template <class Model>
HWY_INLINE PlaneRange ScatterToWindows(RayBlock block, const VolumeShape& volume, float* voxels,
                                       RayAxes axes, PlaneRange all, V pixels) {
  const D d;
  constexpr float kSlack = 1e-3f;  // rounding
  const PlaneRange none{all.first, all.first};
  const int64_t stride_a = volume.stride[axes.a], stride_b = volume.stride[axes.b];
  if (axes.c != 2) return none;
  BlockEnds ends_c = EndsOf(block.c, block.slope_c);
  const int middle = (all.first + all.last) / 2;
  if (ends_c.At(1, middle) < ends_c.At(0, middle)) {
    ReverseLanes(block);
    pixels = hn::Reverse(d, pixels);
    ends_c = EndsOf(block.c, block.slope_c);
  }
  const BlockEnds ends_b = EndsOf(block.b, block.slope_b);
  const float low_b = static_cast<float>(-block.base_b);
  const float low_c = static_cast<float>(-block.base_c);
  PlaneRange inside = WhereAll(
      WhereAll(all, ends_b, low_b + kSlack,
               low_b + static_cast<float>(volume.size[axes.b] - 1) - kSlack),
      ends_c, low_c + kSlack, low_c + static_cast<float>(volume.size[axes.c] - 1) - kSlack);
  // A whole register is added to the column, zeros included.
  const int last_row = static_cast<int>(volume.stride[0]) - kLanes - block.base_c;
  inside = AtMost(inside, ends_c.start[0], ends_c.slope[0], static_cast<float>(last_row));
  if (inside.empty()) return none;
  const auto widest = [&](const BlockEnds& ends) {
    return std::max(ends.Spread(inside.first), ends.Spread(inside.last - 1));
  };
  if (!(widest(ends_b) < 1 - kSlack && widest(ends_c) + 2 + kSlack < kLanes)) return none;
  // From each lane to the next; the last one has none.
  const V step_c = hn::Sub(OneLaneDown(block.c), block.c);
  const V step_slope = hn::Sub(OneLaneDown(block.slope_c), block.slope_c);
  const auto steps = [&](int plane) HWY_ATTR {
    const V step = hn::MulAdd(hn::Set(d, static_cast<float>(plane)), step_slope, step_c);
    return hn::IfThenElse(hn::FirstN(d, kLanes - 1), step, hn::Set(d, 0.5f));
  };
  const V first = steps(inside.first), last = steps(inside.last - 1);
  const float shortest = hn::GetLane(hn::MinOfLanes(d, hn::Min(first, last)));
  const float longest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(first, last)));
  // Lanes behind the detector's last row repeat it; others must keep their order.
  if (!(longest < 1 - kSlack && (shortest > kSlack || shortest == 0))) return none;
  const PlaneTable table(inside, ends_b, ends_c, last_row);
  voxels += (block.reference + inside.first) * stride_a + block.base_b * stride_b + block.base_c;
  // 2^levels rays share a voxel at most.
  if (shortest > 0.5f + kSlack) {
    ScatterTable<Model, 1>(block, table, voxels, stride_a, stride_b, pixels);
  } else if (shortest > 0.25f + kSlack) {
    ScatterTable<Model, 2>(block, table, voxels, stride_a, stride_b, pixels);
  } else {
    ScatterTable<Model, 4>(block, table, voxels, stride_a, stride_b, pixels);
  }
  return inside;
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX3 or AVX2
#endif  // per-target include guard
