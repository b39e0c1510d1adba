// Sums along rays where neighbouring detector rows see neighbouring voxels along z, as on every
// C-arm: in each plane a block of rays needs a short run of two or three voxel columns, which is
// read into registers, and picks its samples there. Included once per target by Highway's
// foreach_target, for targets that can permute across a register (AVX2, AVX-512).

#if defined(ISOCENTER_KERNELS_CPU_PROJECT_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_PROJECT_WINDOWS_INL_H_
#undef ISOCENTER_KERNELS_CPU_PROJECT_WINDOWS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_PROJECT_WINDOWS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/projectors/plane_table-inl.h"
#include "kernels/cpu/projectors/ray_block-inl.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

template <class Model, int kWindow, int kColumns>
HWY_INLINE V AddPlanes(const RayBlock& block, const PlaneTable& table, const int32_t* list,
                       int count, const float* voxels, int64_t stride_a, int64_t stride_b, V sum) {
  const D d;
  const DI di;
  const V one = hn::Set(d, 1.0f);
  for (int n = 0; n < count; ++n) {
    const int32_t i = list[n];
    const float* window = voxels + i * stride_a + table.column[i] * stride_b + table.row[i];
    const V plane = hn::Set(d, table.plane[i]);
    const V c = hn::MulAdd(plane, block.slope_c, hn::Sub(block.c, hn::Set(d, table.c[i])));
    V b = hn::MulAdd(plane, block.slope_b, hn::Sub(block.b, hn::Set(d, table.b[i])));
    const VI index = WholePart(c), next = hn::Add(index, hn::Set(di, 1));
    const auto high_index = High<kWindow>(index), high_next = High<kWindow>(next);
    V low[kColumns], high[kColumns];
    for (int column = 0; column < kColumns; ++column) {
      V run[kWindow];
      for (int r = 0; r < kWindow; ++r) {
        run[r] = Pinned(hn::LoadU(d, window + column * stride_b + r * kLanes));
      }
      low[column] = Pick<kWindow>(run, index, high_index);
      high[column] = Pick<kWindow>(run, next, high_next);
    }
    if constexpr (kColumns == 3) {
      const auto second = hn::Ge(b, one);
      b = hn::Sub(b, hn::IfThenElseZero(second, one));
      for (int column = 0; column < 2; ++column) {
        low[column] = hn::IfThenElse(second, low[column + 1], low[column]);
        high[column] = hn::IfThenElse(second, high[column + 1], high[column]);
      }
    }
    const V share_b = Model::Share(hn::Sub(one, b), block.inverse_b);
    const V share_c = Model::Share(hn::Sub(hn::ConvertTo(d, next), c), block.inverse_c);
    sum = Model::Add(sum, share_b, share_c, block.agree, low[0], high[0], low[1], high[1]);
  }
  return sum;
}

template <class Model, int kWindow>
V AddWindowed(const RayBlock& block, const PlaneTable& table, const float* voxels, int64_t stride_a,
              int64_t stride_b, V sum) {
  sum = AddPlanes<Model, kWindow, 2>(block, table, table.two_columns, table.two_count, voxels,
                                     stride_a, stride_b, sum);
  return AddPlanes<Model, kWindow, 3>(block, table, table.three_columns, table.three_count, voxels,
                                      stride_a, stride_b, sum);
}

/// Registers that hold the run of a voxel column that a block needs in each plane of `range`; 0
/// where there is no such small number, or where it needs more than three columns.
HWY_INLINE int WindowFor(const VolumeShape& volume, RayAxes axes, PlaneRange range,
                         const BlockEnds& ends_b, const BlockEnds& ends_c) {
  constexpr float kSlack = 0.01f;  // rounding
  constexpr int kMostRegisters = 4;
  if (axes.c != 2) return 0;
  const auto widest = [&](const BlockEnds& ends) {
    return std::max(ends.Spread(range.first), ends.Spread(range.last - 1));
  };
  if (!(widest(ends_b) < 1 - kSlack)) return 0;
  // The first row lies within one of the window's begin, and the last sample is one further.
  const float last = widest(ends_c) + 2 + kSlack;
  if (!(last < kMostRegisters * kLanes)) return 0;
  const int window = 1 + static_cast<int>(last) / kLanes;
  return window * kLanes <= volume.stride[0] ? window : 0;
}

/// As AddGathered, where all samples are inside of the grid; window is WindowFor's, not 0.
template <class Model>
V AddFromWindows(const RayBlock& block, const VolumeShape& volume, const float* voxels,
                 RayAxes axes, PlaneRange range, const BlockEnds& ends_b, const BlockEnds& ends_c,
                 int window, V sum) {
  const int64_t stride_a = volume.stride[axes.a], stride_b = volume.stride[axes.b];
  // Windows stay inside of their column, of which stride[0] floats are memory.
  const int last_row = static_cast<int>(volume.stride[0]) - window * kLanes - block.base_c;
  const PlaneTable table(range, ends_b, ends_c, last_row);
  voxels += (block.reference + range.first) * stride_a + block.base_b * stride_b + block.base_c;
  switch (window) {
    case 1:
      return AddWindowed<Model, 1>(block, table, voxels, stride_a, stride_b, sum);
    case 2:
      return AddWindowed<Model, 2>(block, table, voxels, stride_a, stride_b, sum);
    case 3:
      return AddWindowed<Model, 3>(block, table, voxels, stride_a, stride_b, sum);
    default:
      return AddWindowed<Model, 4>(block, table, voxels, stride_a, stride_b, sum);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX3 or AVX2
#endif  // per-target include guard
