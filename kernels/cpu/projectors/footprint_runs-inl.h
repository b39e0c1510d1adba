// Footprint projectors of regular runs of voxels (footprint_view.h). Forward, a run is worked on in
// two steps, both without conflicts between lanes:
//   1. one lane per voxel: what the voxel adds to each detector column, before it is spread along
//      the column;
//   2. one lane per detector row: which voxels add to it and how much, times what step 1 left.
// Back, one lane per voxel gathers from the rows of each column what the same factors say.
// Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_FOOTPRINT_RUNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_FOOTPRINT_RUNS_INL_H_
#undef ISOCENTER_KERNELS_CPU_FOOTPRINT_RUNS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_FOOTPRINT_RUNS_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/projectors/footprint_runs.h"
#include "kernels/cpu/projectors/footprint_shapes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;

#undef ISOCENTER_FOOTPRINT_WINDOWS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
#define ISOCENTER_FOOTPRINT_WINDOWS 1
#else
#define ISOCENTER_FOOTPRINT_WINDOWS 0
#endif

// What lanes read from a short run of memory: from kWindow registers that hold its beginning, or
// where kWindow is 0 by gathers.
template <int kWindow>
class Reader {
 public:
#if ISOCENTER_FOOTPRINT_WINDOWS
  HWY_INLINE explicit Reader(const float* from) : from_(from) {
    for (int r = 0; r < kWindow; ++r) window_[r] = Pinned(hn::LoadU(D(), from + r * kLanes));
  }
  HWY_INLINE V operator[](VI index) const {
    if constexpr (kWindow == 0) {
      return hn::GatherIndex(D(), from_, index);
    } else {
      return Pick<kWindow>(window_, index, High<kWindow>(index));
    }
  }
#else
  HWY_INLINE explicit Reader(const float* from) : from_(from) {}
  HWY_INLINE V operator[](VI index) const { return hn::GatherIndex(D(), from_, index); }
#endif

 private:
  const float* from_;
#if ISOCENTER_FOOTPRINT_WINDOWS
  V window_[kWindow == 0 ? 1 : kWindow];
#endif
};

// Registers that hold what the lanes of a vector read: each lane begins at most `step` elements
// after the one before it, and reads `taps`. 0: too many.
inline int WindowFor(float step, int taps) {
#if ISOCENTER_FOOTPRINT_WINDOWS
  // Rounding may move a beginning by one.
  const float span = static_cast<float>(kLanes - 1) * step + static_cast<float>(taps) + 1;
  return span < 4 * kLanes ? 1 + static_cast<int>(span) / kLanes : 0;
#else
  (void)step, (void)taps;
  return 0;
#endif
}

// Calls function with `window` as a constant.
template <class Function>
HWY_INLINE void WithWindow(int window, const Function& function) {
  switch (ISOCENTER_FOOTPRINT_WINDOWS ? window : 0) {
    case 1:
      return function(std::integral_constant<int, 1>());
    case 2:
      return function(std::integral_constant<int, 2>());
    case 3:
      return function(std::integral_constant<int, 3>());
    case 4:
      return function(std::integral_constant<int, 4>());
    default:
      return function(std::integral_constant<int, 0>());
  }
}

// The least of values that rise or fall from lane to lane.
HWY_INLINE int Least(V values, bool rising) {
  return static_cast<int>(hn::GetLane(rising ? values : hn::Reverse(D(), values)));
}

// Step 1.
template <class Shape>
void SpreadAcross(const RunGeometry& g, const float* HWY_RESTRICT voxels, RunScratch& scratch) {
  const D d;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const float middle = static_cast<float>(g.count / 2);
  const V last = hn::Set(d, static_cast<float>(g.count - 1) - middle);
  for (int z = 0; z < g.count; z += lanes) {
    const V t = hn::Min(hn::Iota(d, static_cast<float>(z) - middle), last);
    const auto inside = hn::FirstN(d, static_cast<size_t>(g.count - z));
    const V value = hn::IfThenElseZero(inside, hn::LoadU(d, voxels + z));
    const ColumnSpan span = Shape::Across(g, t, [&](int c, V share) HWY_ATTR {
      hn::Store(hn::IfThenElseZero(inside, hn::Mul(value, share)), d, scratch.column(c) + z);
    });
    for (int c = 0; c < g.columns; ++c) {
      if (c < span.begin || c >= span.end) hn::Store(hn::Zero(d), d, scratch.column(c) + z);
    }
    scratch.begin[z / lanes] = span.begin;
    scratch.end[z / lanes] = span.end;
  }
  for (int c = 0; c < g.columns; ++c) scratch.column(c)[g.count] = 0;
}

// Step 2.
template <class Shape, int kWindow>
void SpreadAlong(const RunGeometry& g, RunScratch& scratch) {
  const D d;
  const DI di;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const float middle = static_cast<float>(g.count / 2);
  const V behind = hn::Set(d, static_cast<float>(g.count));
  for (int row = g.first_row; row < g.end_row; row += lanes) {
    const V relative = hn::Iota(d, static_cast<float>(row - g.near_v));
    // Voxels before the run would use up taps.
    const V first =
        Within(Shape::FirstVoxel(g, relative), -middle, static_cast<float>(g.count) - middle);
    V shares[kMaxTaps];
    Shape::AlongRows(g, relative, first, shares);
    const V start = hn::Add(first, hn::Set(d, middle));
    const int base = kWindow == 0 ? 0 : Least(start, g.ascending);
    VI index[kMaxTaps];
    for (int k = 0; k < g.forward_taps; ++k) {
      const V voxel = hn::Min(hn::Add(start, hn::Set(d, static_cast<float>(k))), behind);
      index[k] = hn::Sub(hn::ConvertTo(di, voxel), hn::Set(di, base));
    }
    ColumnSpan span{g.columns, 0};
    const int last = kWindow == 0 ? g.count - 1 : std::min(base + kWindow * lanes, g.count) - 1;
    for (int block = base / lanes; block <= last / lanes; ++block) {
      span.begin = std::min(span.begin, scratch.begin[block]);
      span.end = std::max(span.end, scratch.end[block]);
    }
    const int rest = g.end_row - row;
    for (int c = span.begin; c < span.end; ++c) {
      const Reader<kWindow> read(scratch.column(c) + base);
      float* const pixels = g.image + c * g.stride + row;
      V sum = hn::LoadU(d, pixels);
      for (int k = 0; k < g.forward_taps; ++k) sum = hn::MulAdd(shares[k], read[index[k]], sum);
      if (rest >= lanes) {
        hn::StoreU(sum, d, pixels);
      } else {
        hn::BlendedStore(sum, hn::FirstN(d, static_cast<size_t>(rest)), d, pixels);
      }
    }
  }
}

template <class Shape>
HWY_INLINE void ForwardRun(const RunGeometry& g, const float* HWY_RESTRICT voxels,
                           RunScratch& scratch) {
  SpreadAcross<Shape>(g, voxels, scratch);
  WithWindow(WindowFor(g.voxels_per_row, g.forward_taps),
             [&](auto window) { SpreadAlong<Shape, window>(g, scratch); });
}

template <class Shape, int kWindow>
void Collect(const RunGeometry& g, float* HWY_RESTRICT voxels) {
  const D d;
  const DI di;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const float middle = static_cast<float>(g.count / 2);
  const V last = hn::Set(d, static_cast<float>(g.count - 1) - middle);
  for (int z = 0; z < g.count; z += lanes) {
    const V t = hn::Min(hn::Iota(d, static_cast<float>(z) - middle), last);
    V shares[kMaxTaps];
    const V row =
        hn::Add(Shape::AlongVoxels(g, t, shares), hn::Set(d, static_cast<float>(g.near_v)));
    // Rows beside the detector are zero as far as the taps reach.
    const V start = Within(row, -kMaxTaps, static_cast<float>(g.rows));
    const int base = kWindow == 0 ? 0 : Least(start, g.ascending);
    const VI index = hn::Sub(hn::ConvertTo(di, start), hn::Set(di, base));
    V sum = hn::LoadU(d, voxels + z);
    Shape::Across(g, t, [&](int c, V share) HWY_ATTR {
      const Reader<kWindow> read(g.image + c * g.stride + base);
      V column = hn::Zero(d);
      for (int k = 0; k < g.back_taps; ++k) {
        column = hn::MulAdd(shares[k], read[hn::Add(index, hn::Set(di, k))], column);
      }
      sum = hn::MulAdd(share, column, sum);
    });
    hn::StoreU(sum, d, voxels + z);
  }
}

// Writes whole vectors.
template <class Shape>
HWY_INLINE void BackRun(const RunGeometry& g, float* HWY_RESTRICT voxels) {
  WithWindow(WindowFor(g.rows_per_voxel, g.back_taps),
             [&](auto window) { Collect<Shape, window>(g, voxels); });
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
