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

#include <type_traits>

#include "hwy/highway.h"
#include "kernels/cpu/footprint_runs.h"
#include "kernels/cpu/register_window-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;

#undef ISOCENTER_FOOTPRINT_WINDOWS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
#define ISOCENTER_FOOTPRINT_WINDOWS 1
#else
#define ISOCENTER_FOOTPRINT_WINDOWS 0
#endif

HWY_INLINE V Inverse(V value) {
#if ISOCENTER_FOOTPRINT_WINDOWS
  return Reciprocal(value);
#else
  return hn::Div(hn::Set(D(), 1.0f), value);
#endif
}

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

// a + b·t.
HWY_INLINE V Line(float a, float b, V t) { return hn::MulAdd(hn::Set(D(), b), t, hn::Set(D(), a)); }

// Kept within limits; what is not a number becomes the lower one.
HWY_INLINE V Within(V value, float low, float high) {
  const V least = hn::Set(D(), low);
  return hn::Min(hn::IfThenElse(hn::Ge(value, least), value, least), hn::Set(D(), high));
}

// Relative detector row of the voxel, or part of one, at t.
HWY_INLINE V RowAt(const RunGeometry& g, V t) {
  return hn::Mul(Line(g.v0, g.v1, t), Inverse(Line(g.w0, g.w1, t)));
}

// c_j.
HWY_INLINE V MassAt(const RunGeometry& g, V t, V inverse_depth) {
  const V x = Line(g.from_source[0], g.step[0], t), y = Line(g.from_source[1], g.step[1], t);
  const V z = Line(g.from_source[2], g.step[2], t);
  const V distance = hn::Sqrt(hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z))));
  const V cube = hn::Mul(hn::Mul(inverse_depth, inverse_depth), inverse_depth);
  return hn::Mul(hn::Mul(hn::Set(D(), g.mass), distance), cube);
}

// The position t at which a relative row is seen.
HWY_INLINE V TracedBack(const RunGeometry& g, V row) {
  const V w0 = hn::Set(D(), g.w0), w1 = hn::Set(D(), g.w1);
  return hn::Mul(hn::MulSub(row, w0, hn::Set(D(), g.v0)),
                 Inverse(hn::NegMulAdd(row, w1, hn::Set(D(), g.v1))));
}

// kVoxelDriven.
struct Hat {
  static HWY_INLINE V Height(V distance) {
    const V one = hn::Set(D(), 1.0f);
    return hn::Max(hn::Sub(one, hn::Abs(distance)), hn::Zero(D()));
  }

  // Calls column(c, share) for the columns that are wanted: c_j·F of the voxels at t.
  template <class Column>
  static HWY_INLINE void Across(const RunGeometry& g, V t, const Column& column) {
    const D d;
    const V inverse = Inverse(Line(g.w0, g.w1, t));
    const V mass = MassAt(g, t, inverse);
    const V u = hn::Mul(Line(g.u0, g.u1, t), inverse);
    for (int c = 0; c < g.columns; ++c) {
      const V at = hn::Set(d, static_cast<float>(g.first_column + c));
      column(c, hn::Mul(mass, Height(hn::Sub(u, at))));
    }
  }

  // The first of the voxels, counted from the run's first, that add to relative rows `row`.
  static HWY_INLINE V FirstVoxel(const RunGeometry& g, V row) {
    const V end = hn::Set(D(), g.ascending ? -1.0f : 1.0f);
    return hn::Add(hn::Floor(TracedBack(g, hn::Add(row, end))), hn::Set(D(), 1.0f));
  }
  // G of voxels t, t + 1 ... for relative rows.
  static HWY_INLINE void AlongRows(const RunGeometry& g, V row, V t, V* HWY_RESTRICT shares) {
    for (int k = 0; k < g.forward_taps; ++k) {
      const V voxel = hn::Add(t, hn::Set(D(), static_cast<float>(k)));
      shares[k] = Height(hn::Sub(RowAt(g, voxel), row));
    }
  }
  // The first relative row that voxels at t add to, and G for it and those that follow.
  static HWY_INLINE V AlongVoxels(const RunGeometry& g, V t, V* HWY_RESTRICT shares) {
    const V v = RowAt(g, t);
    const V first = hn::Floor(v);
    shares[1] = hn::Sub(v, first);
    shares[0] = hn::Sub(hn::Set(D(), 1.0f), shares[1]);
    return first;
  }
};

// kSeparableFootprint with axial axis z.
struct Trapezoid {
  template <class Column>
  static HWY_INLINE void Across(const RunGeometry& g, V t, const Column& column) {
    const D d;
    const V zero = hn::Zero(d), half = hn::Set(d, 0.5f);
    const V uw = Line(g.u0, g.u1, t), w = Line(g.w0, g.w1, t);
    V u[4];
    for (int corner = 0; corner < 4; ++corner) {
      u[corner] = hn::Mul(hn::Add(uw, hn::Set(d, g.corner_u[corner])),
                          Inverse(hn::Add(w, hn::Set(d, g.corner_w[corner]))));
    }
    // Two pairs in order, then the outer and the inner ones.
    const V low_a = hn::Min(u[0], u[1]), high_a = hn::Max(u[0], u[1]);
    const V low_b = hn::Min(u[2], u[3]), high_b = hn::Max(u[2], u[3]);
    const V middle_a = hn::Max(low_a, low_b), middle_b = hn::Min(high_a, high_b);
    const V u0 = hn::Min(low_a, low_b), u3 = hn::Max(high_a, high_b);
    const V u1 = hn::Min(middle_a, middle_b), u2 = hn::Max(middle_a, middle_b);
    const V rise = hn::Sub(u1, u0), top = hn::Sub(u2, u1), fall = hn::Sub(u3, u2);

    const V rows = hn::Abs(hn::Sub(RowAt(g, hn::Add(t, half)), RowAt(g, hn::Sub(t, half))));
    const V area = hn::Mul(hn::MulAdd(half, hn::Add(rise, fall), top), rows);
    const V height =
        hn::IfThenElseZero(hn::Gt(area, zero), hn::Mul(MassAt(g, t, Inverse(w)), Inverse(area)));
    // Of a ramp without width nothing is taken.
    const V least = hn::Set(d, 1e-20f);
    const V rise_factor = hn::Mul(half, Inverse(hn::Max(rise, least)));
    const V fall_factor = hn::Mul(half, Inverse(hn::Max(fall, least)));
    const auto below = [&](float at) HWY_ATTR {
      const V position = hn::Set(d, at);
      const V up = hn::Min(hn::Max(hn::Sub(position, u0), zero), rise);
      const V level = hn::Min(hn::Max(hn::Sub(position, u1), zero), top);
      const V down = hn::Min(hn::Max(hn::Sub(position, u2), zero), fall);
      V sum = hn::MulAdd(hn::Mul(up, up), rise_factor, level);
      sum = hn::Add(sum, down);
      return hn::NegMulAdd(hn::Mul(down, down), fall_factor, sum);
    };
    V before = below(static_cast<float>(g.first_column) - 0.5f);
    for (int c = 0; c < g.columns; ++c) {
      const V after = below(static_cast<float>(g.first_column + c) + 0.5f);
      column(c, hn::Mul(height, hn::Sub(after, before)));
      before = after;
    }
  }

  static HWY_INLINE V FirstVoxel(const RunGeometry& g, V row) {
    const V half = hn::Set(D(), 0.5f);
    const V end = hn::Set(D(), g.ascending ? -0.5f : 0.5f);
    return hn::Add(hn::Floor(hn::Sub(TracedBack(g, hn::Add(row, end)), half)), hn::Set(D(), 1.0f));
  }
  static HWY_INLINE void AlongRows(const RunGeometry& g, V row, V t, V* HWY_RESTRICT shares) {
    const V half = hn::Set(D(), 0.5f);
    const V low = hn::Sub(row, half), high = hn::Add(row, half);
    const auto edge = [&](int k) HWY_ATTR {
      const V at = hn::Add(t, hn::Set(D(), static_cast<float>(k) - 0.5f));
      return hn::Min(hn::Max(RowAt(g, at), low), high);
    };
    V before = edge(0);
    for (int k = 0; k < g.forward_taps; ++k) {
      const V after = edge(k + 1);
      shares[k] = hn::Abs(hn::Sub(after, before));
      before = after;
    }
  }
  static HWY_INLINE V AlongVoxels(const RunGeometry& g, V t, V* HWY_RESTRICT shares) {
    const V half = hn::Set(D(), 0.5f), one = hn::Set(D(), 1.0f);
    const V a = RowAt(g, hn::Sub(t, half)), b = RowAt(g, hn::Add(t, half));
    const V low = hn::Min(a, b), high = hn::Max(a, b);
    const V first = hn::Floor(hn::Add(low, half));
    // Where the pixel ends or the footprint does.
    V end = hn::Add(first, half), before = low;
    for (int k = 0; k < g.back_taps; ++k) {
      const V after = hn::Min(hn::Max(end, low), high);
      shares[k] = hn::Sub(after, before);
      before = after;
      end = hn::Add(end, one);
    }
    return first;
  }
};

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
  for (int z = 0; z < g.count; z += lanes) {
    const V t = hn::Iota(d, static_cast<float>(z) - middle);
    const auto inside = hn::FirstN(d, static_cast<size_t>(g.count - z));
    const V value = hn::IfThenElseZero(inside, hn::LoadU(d, voxels + z));
    Shape::Across(g, t, [&](int c, V share) HWY_ATTR {
      hn::Store(hn::IfThenElseZero(inside, hn::Mul(value, share)), d, scratch.column(c) + z);
    });
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
    const int rest = g.end_row - row;
    for (int c = 0; c < g.columns; ++c) {
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
