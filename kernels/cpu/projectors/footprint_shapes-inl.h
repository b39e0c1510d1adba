// The two kinds of footprints on regular runs of voxels: shares of detector columns and rows, one
// lane per voxel or row. Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_FOOTPRINT_SHAPES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_FOOTPRINT_SHAPES_INL_H_
#undef ISOCENTER_KERNELS_CPU_FOOTPRINT_SHAPES_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_FOOTPRINT_SHAPES_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/projectors/footprint_view.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// 1 / value.
HWY_INLINE V Inverse(V value) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  return Reciprocal(value);
#else
  return hn::Div(hn::Set(D(), 1.0f), value);
#endif
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

// Columns [begin, end), that the lanes of a vector see.
struct ColumnSpan {
  int begin, end;
};

// The columns from that in which the least of `low` lies to that of the largest of `high`; both
// rise or fall from lane to lane. Column c begins at relative position c here.
HWY_INLINE ColumnSpan SpanOf(const RunGeometry& g, V low, V high) {
  const D d;
  const float first = hn::GetLane(hn::Min(low, hn::Reverse(d, low)));
  const float last = hn::GetLane(hn::Max(high, hn::Reverse(d, high)));
  const auto columns = static_cast<float>(g.columns), start = static_cast<float>(g.first_column);
  const int begin = static_cast<int>(std::clamp(first - start, 0.0f, columns));
  const int end = static_cast<int>(std::clamp(last - start + 1, 0.0f, columns));
  return {begin, std::max(begin, end)};
}

// kVoxelDriven.
struct Hat {
  static HWY_INLINE V Height(V distance) {
    const V one = hn::Set(D(), 1.0f);
    return hn::Max(hn::Sub(one, hn::Abs(distance)), hn::Zero(D()));
  }

  // Calls column(c, share) for the columns that the voxels at t see: c_j·F.
  template <class Column>
  static HWY_INLINE ColumnSpan Across(const RunGeometry& g, V t, const Column& column) {
    const D d;
    const V inverse = Inverse(Line(g.w0, g.w1, t));
    const V mass = MassAt(g, t, inverse);
    const V u = hn::Mul(Line(g.u0, g.u1, t), inverse);
    const ColumnSpan span = SpanOf(g, u, hn::Add(u, hn::Set(d, 1.0f)));
    for (int c = span.begin; c < span.end; ++c) {
      const V at = hn::Set(d, static_cast<float>(g.first_column + c));
      column(c, hn::Mul(mass, Height(hn::Sub(u, at))));
    }
    return span;
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
  static HWY_INLINE ColumnSpan Across(const RunGeometry& g, V t, const Column& column) {
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
    const ColumnSpan span = SpanOf(g, hn::Add(u0, half), hn::Add(u3, half));
    const auto left_edge = [&](int c) { return static_cast<float>(g.first_column + c) - 0.5f; };
    V before = below(left_edge(span.begin));
    for (int c = span.begin; c < span.end; ++c) {
      const V after = below(left_edge(c + 1));
      column(c, hn::Mul(height, hn::Sub(after, before)));
      before = after;
    }
    return span;
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

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
