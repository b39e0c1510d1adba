// Where the rays of a block are in each plane, for the kernels that work on windows. Included once
// per target by Highway's foreach_target, for targets that can permute across a register.

#if defined(ISOCENTER_KERNELS_CPU_PLANE_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_PLANE_TABLE_INL_H_
#undef ISOCENTER_KERNELS_CPU_PLANE_TABLE_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_PLANE_TABLE_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/projectors/project_job.h"
#include "kernels/cpu/projectors/ray_block-inl.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

inline constexpr int kMaxRunPlanes = (kRunPlanes + kLanes - 1) / kLanes * kLanes;

/// The planes of a block: where its windows begin, relative to voxel (base_b, base_c), and which of
/// them touch three columns.
struct HWY_ALIGN_MAX PlaneTable {
  float plane[kMaxRunPlanes], b[kMaxRunPlanes], c[kMaxRunPlanes];
  int32_t column[kMaxRunPlanes], row[kMaxRunPlanes];  // b and c again
  int32_t two_columns[kMaxRunPlanes + kLanes], three_columns[kMaxRunPlanes + kLanes];
  int two_count = 0, three_count = 0;

  /// No window begins after row `last_row`.
  HWY_INLINE PlaneTable(PlaneRange range, const BlockEnds& ends_b, const BlockEnds& ends_c,
                        int last_row) {
    const D d;
    const DI di;
    const auto at = [&](const BlockEnds& ends, int i, V planes) HWY_ATTR {
      return hn::MulAdd(planes, hn::Set(d, ends.slope[i]), hn::Set(d, ends.start[i]));
    };
    const VI end = hn::Set(di, range.last - range.first);
    const V highest = hn::Set(d, static_cast<float>(last_row));
    for (int i = 0; i < range.last - range.first; i += kLanes) {
      const VI index = hn::Iota(di, i);
      const V planes = hn::ConvertTo(d, hn::Add(index, hn::Set(di, range.first)));
      const V b0 = at(ends_b, 0, planes), b1 = at(ends_b, 1, planes);
      const V low_b = hn::Floor(hn::Min(b0, b1));
      const V low_c =
          hn::Min(hn::Floor(hn::Min(at(ends_c, 0, planes), at(ends_c, 1, planes))), highest);
      hn::Store(planes, d, plane + i);
      hn::Store(low_b, d, b + i);
      hn::Store(low_c, d, c + i);
      hn::Store(hn::ConvertTo(di, low_b), di, column + i);
      hn::Store(hn::ConvertTo(di, low_c), di, row + i);
      const auto used = hn::RebindMask(d, hn::Lt(index, end));
      const auto crossing = hn::Ge(hn::Max(b0, b1), hn::Add(low_b, hn::Set(d, 1.0f)));
      Append(index, hn::AndNot(crossing, used), two_columns, two_count);
      Append(index, hn::And(crossing, used), three_columns, three_count);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX3 or AVX2
#endif  // per-target include guard
