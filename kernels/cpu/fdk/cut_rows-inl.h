// The vector passes of CutRowsPlan: rows side by side, one in each lane. Included once per target
// by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_
#undef ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_CUT_ROWS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/fdk/cut_rows_plan.h"
#include "kernels/ops/row_outline.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace cut_rows {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// `edge` is an edge's pixel, `outwards` the distance to the next one beyond it.
inline void Mirror(const CutRowsPlan& plan, float* edge, int64_t outwards) {
  const D d;
  const V first = hn::Load(d, edge), twice = hn::Add(first, first);
  for (int64_t k = 1; k <= plan.extension; ++k) {
    const V mirrored = hn::Sub(twice, hn::Load(d, edge - k * outwards));
    hn::Store(hn::Mul(hn::Set(d, plan.fade[k - 1]), hn::Max(hn::Zero(d), mirrored)), d,
              edge + k * outwards);
  }
}

// square + slope·k - curvature·k² is the square of the pixel k beyond an edge.
struct Parabolas {
  V slope, curvature;
};

inline Parabolas FitEdge(const CutRowsPlan& plan, const float* edge, int64_t outwards, V square) {
  const D d;
  V curvature = hn::Zero(d);
  for (size_t j = 0; j < plan.curvature.size(); ++j) {
    const V pixel = hn::Load(d, edge - static_cast<int64_t>(j) * outwards);
    curvature = hn::MulAdd(hn::Set(d, plan.curvature[j]), hn::Mul(pixel, pixel), curvature);
  }
  curvature = hn::Max(hn::Zero(d), curvature);
  V slope = hn::Mul(hn::Set(d, plan.slope_of_curvature), curvature);
  for (size_t k = 0; k < plan.slope.size(); ++k) {
    const V pixel = hn::Load(d, edge - static_cast<int64_t>(k + 1) * outwards);
    slope = hn::MulAdd(hn::Set(d, plan.slope[k]), hn::MulSub(pixel, pixel, square), slope);
  }
  const auto length = static_cast<float>(plan.extension);
  const V ends =
      hn::NegMulAdd(square, hn::Set(d, 1 / length), hn::Mul(curvature, hn::Set(d, length)));
  return {hn::Min(slope, hn::Min(hn::Zero(d), ends)), curvature};
}

// Coefficients of the orthogonal polynomials in rows' squares, and how much of the fit is taken.
struct RowFits {
  V mean, first, second, share;
};

inline RowFits FitRows(const CutRowsPlan& plan, const float* row, int64_t pitch) {
  const D d;
  const V zero = hn::Zero(d);
  RowFits fit{zero, zero, zero, zero};
  if (plan.first.empty()) return fit;
  const float* begin = row + ops::RowFitMargin(static_cast<int>(plan.columns)) * pitch;
  const auto square_of = [&](size_t j) {
    const V pixel = hn::Load(d, begin + static_cast<int64_t>(j) * pitch);
    return hn::Mul(pixel, pixel);
  };
  for (size_t j = 0; j < plan.first.size(); ++j) {
    const V square = square_of(j);
    fit.mean = hn::Add(fit.mean, square);
    fit.first = hn::MulAdd(hn::Set(d, plan.first[j]), square, fit.first);
    fit.second = hn::MulAdd(hn::Set(d, plan.second[j]), square, fit.second);
  }
  const V per_pixel = hn::Set(d, 1 / static_cast<float>(plan.first.size()));
  fit.mean = hn::Mul(fit.mean, per_pixel);
  V missed = zero;
  for (size_t j = 0; j < plan.first.size(); ++j) {
    const V through = hn::MulAdd(hn::Set(d, plan.first[j]), fit.first,
                                 hn::MulAdd(hn::Set(d, plan.second[j]), fit.second, fit.mean));
    const V difference = hn::Sub(square_of(j), through);
    missed = hn::MulAdd(difference, difference, missed);
  }
  constexpr auto kMissed = static_cast<float>(ops::kRowFitMissed);
  const V bound = hn::Mul(hn::Set(d, kMissed), fit.mean);
  const V relative = hn::Div(hn::Mul(missed, per_pixel), hn::Mul(bound, bound));
  const V left = hn::Max(zero, hn::Sub(hn::Set(d, 1), relative));
  fit.share = hn::IfThenElseZero(hn::Gt(fit.mean, zero), hn::Mul(left, left));
  return fit;
}

// What the row's fit says beyond its right edge (side 1) or its left one (-1).
inline Parabolas Outline(const CutRowsPlan& plan, const RowFits& fit, float side, V square) {
  const D d;
  const V zero = hn::Zero(d), length = hn::Set(d, static_cast<float>(plan.extension));
  const V first = hn::Mul(hn::Set(d, side), fit.first);
  const V value =
      hn::Max(zero, hn::MulAdd(hn::Set(d, plan.first_edge), first,
                               hn::MulAdd(hn::Set(d, plan.second_edge), fit.second, fit.mean)));
  const V slope = hn::MulAdd(hn::Set(d, plan.first_slope), first,
                             hn::Mul(hn::Set(d, plan.second_slope), fit.second));
  const V curvature = hn::Max(zero, hn::Mul(hn::Set(d, -plan.second_curvature), fit.second));
  const V twice_value = hn::Add(value, value), twice_curvature = hn::Add(curvature, curvature);
  const V root = hn::Sqrt(hn::MulAdd(slope, slope, hn::Mul(twice_value, twice_curvature)));
  const auto rises = hn::Gt(slope, zero);
  const V top = hn::IfThenElse(rises, hn::Add(slope, root), twice_value);
  const V bottom = hn::IfThenElse(rises, twice_curvature, hn::Sub(root, slope));
  const V end = hn::IfThenElse(hn::Le(hn::Mul(bottom, length), top), length,
                               hn::Max(hn::Set(d, 1), hn::Div(top, bottom)));
  const V ends = hn::MulSub(curvature, end, hn::Div(square, end));
  return {hn::Min(zero, ends), curvature};
}

inline void Extend(const CutRowsPlan& plan, float* edge, int64_t outwards, V square,
                   const Parabolas& fit) {
  const D d;
  for (int64_t k = 1; k <= plan.extension; ++k) {
    const V at = hn::Set(d, static_cast<float>(k));
    const V chord = hn::MulAdd(at, hn::NegMulAdd(fit.curvature, at, fit.slope), square);
    hn::Store(hn::Sqrt(hn::Max(hn::Zero(d), chord)), d, edge + k * outwards);
  }
}

inline void Cylinder(const CutRowsPlan& plan, float* row, int64_t pitch) {
  const D d;
  const RowFits rows = FitRows(plan, row, pitch);
  for (const int side : {-1, 1}) {
    float* const edge = side < 0 ? row : row + (plan.columns - 1) * pitch;
    const V first = hn::Max(hn::Zero(d), hn::Load(d, edge)), square = hn::Mul(first, first);
    const Parabolas local = FitEdge(plan, edge, side * pitch, square);
    const Parabolas whole = Outline(plan, rows, static_cast<float>(side), square);
    const auto mean = [&](V a, V b) { return hn::MulAdd(rows.share, hn::Sub(b, a), a); };
    Extend(plan, edge, side * pitch, square,
           {mean(local.slope, whole.slope), mean(local.curvature, whole.curvature)});
  }
}

// In place; 0 at both edges.
inline void DifferentiateTwice(const CutRowsPlan& plan, float* row, int64_t pitch) {
  const D d;
  V before = hn::Load(d, row);
  hn::Store(hn::Zero(d), d, row);
  for (int64_t u = 1; u + 1 < plan.columns; ++u) {
    const V here = hn::Load(d, row + u * pitch), after = hn::Load(d, row + (u + 1) * pitch);
    hn::Store(hn::Sub(hn::Add(before, after), hn::Add(here, here)), d, row + u * pitch);
    before = here;
  }
  hn::Store(hn::Zero(d), d, row + (plan.columns - 1) * pitch);
}

// `row` is pixel 0 of the first lanes, `pitch` the distance of pixels; there is room for the
// extension on both sides.
inline void Prepare(const CutRowsPlan& plan, float* row, int64_t pitch) {
  if (plan.truncation == ops::Truncation::kAtract) return DifferentiateTwice(plan, row, pitch);
  if (plan.extension == 0) return;
  if (plan.truncation == ops::Truncation::kCylinder) return Cylinder(plan, row, pitch);
  Mirror(plan, row, -pitch);
  Mirror(plan, row + (plan.columns - 1) * pitch, pitch);
}

}  // namespace cut_rows

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
