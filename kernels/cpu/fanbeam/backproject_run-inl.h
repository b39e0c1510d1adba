// Runs of pixels along x, as vectors. Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_FANBEAM_RUN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_FANBEAM_RUN_INL_H_
#undef ISOCENTER_KERNELS_CPU_FANBEAM_RUN_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_FANBEAM_RUN_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"
#include "kernels/cpu/fanbeam/backproject_plan.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether values are picked from two registers where they can.
template <class T>
inline constexpr bool kFanWindows = HWY_TARGET == HWY_AVX3 ||
                                    (HWY_TARGET == HWY_AVX2 && sizeof(T) == sizeof(float));

// How values are looked up in a row: picked from two registers, where neighboring pixels see
// channels in rising or in falling order, close enough to each other; or gathered.
enum class FanLookUp { kRising, kFalling, kGather };

// A run of pixels of one image row in one view.
template <class T>
struct FanRun {
  T x, dx, u, du;  // of the first pixel, and from one to the next
  const T* rows;
  T* sums;
};

template <class T>
using FanVec = hn::Vec<hn::ScalableTag<T>>;
template <class T>
using FanIndex = hn::Vec<hn::RebindToSigned<hn::ScalableTag<T>>>;

// Elements `index` and `index` + 1 of two registers in a row.
template <class T>
struct FanPair {
  FanVec<T> low, high;
};
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
HWY_INLINE FanPair<float> FanPick(V first, V second, VI low, VI high) {
  const V window[2] = {first, second};
  return {Pick<2>(window, low, High<2>(low)), Pick<2>(window, high, High<2>(high))};
}
#endif
#if HWY_TARGET == HWY_AVX3
HWY_INLINE FanPair<double> FanPick(FanVec<double> first, FanVec<double> second,
                                   FanIndex<double> low, FanIndex<double> high) {
  return {FanVec<double>{_mm512_permutex2var_pd(first.raw, low.raw, second.raw)},
          FanVec<double>{_mm512_permutex2var_pd(first.raw, high.raw, second.raw)}};
}
#endif

template <class T>
HWY_INLINE FanVec<T> FanReciprocal(FanVec<T> value) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == sizeof(float)) {
    // The estimate and one step of Newton's method; a division takes several times as long.
    const auto estimate = hn::ApproximateReciprocal(value);
    return hn::Mul(estimate, hn::NegMulAdd(value, estimate, hn::Set(hn::ScalableTag<T>(), T{2})));
  }
#endif
  return hn::Div(hn::Set(hn::ScalableTag<T>(), T{1}), value);
}

// Where pixels are seen, in channels from the beginning of the padded row.
template <class T, FanForm kForm>
HWY_INLINE FanVec<T> FanPosition(const FanPlan<T>& plan, FanVec<T> ratio) {
  const hn::ScalableTag<T> d;
  const auto center = hn::Set(d, plan.center);
  if constexpr (kForm == FanForm::kFlat || kForm == FanForm::kTangent) {
    return hn::MulAdd(ratio, hn::Set(d, plan.per_radian), center);
  }
  if constexpr (kForm == FanForm::kLibrary) {
    return hn::MulAdd(hn::Atan(d, ratio), hn::Set(d, plan.per_radian), center);
  }
  // Even and odd terms by themselves: half as many steps wait for each other.
  constexpr int kTerms = FanTerms<T>(kForm);
  static_assert(kTerms % 2 == 0);
  const auto square = hn::Mul(ratio, ratio), fourth = hn::Mul(square, square);
  auto even = hn::Set(d, plan.coefficients[kTerms - 2]);
  auto odd = hn::Set(d, plan.coefficients[kTerms - 1]);
  for (int i = kTerms - 4; i >= 0; i -= 2) {
    even = hn::MulAdd(even, fourth, hn::Set(d, plan.coefficients[i]));
    odd = hn::MulAdd(odd, fourth, hn::Set(d, plan.coefficients[i + 1]));
  }
  const auto sum = hn::MulAdd(odd, square, even);
  return hn::MulAdd(ratio, sum, center);
}

template <class T, FanLookUp kLookUp, int kImages, FanForm kForm>
void AddRun(const FanTile<T>& tile, const FanRun<T>& run) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  const FanPlan<T>& plan = *tile.plan;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto x0 = hn::Set(d, run.x), dx = hn::Set(d, run.dx);
  const auto u0 = hn::Set(d, run.u), du = hn::Set(d, run.du);
  const auto first_ratio = hn::Set(d, plan.first_ratio), last_ratio = hn::Set(d, plan.last_ratio);
  const auto nearest = hn::Set(d, plan.nearest);
  const auto step = hn::Set(d, static_cast<T>(lanes));
  auto index = hn::Iota(d, T{0});
  for (int64_t i = 0; i < tile.columns; i += lanes, index = hn::Add(index, step)) {
    const auto x = hn::MulAdd(index, dx, x0), u = hn::MulAdd(index, du, u0);
    const auto reciprocal = FanReciprocal<T>(u);
    auto ratio = hn::Min(hn::Max(hn::Mul(x, reciprocal), first_ratio), last_ratio);
    ratio = hn::IfThenElse(hn::Gt(u, nearest), ratio, last_ratio);
    const auto position = FanPosition<T, kForm>(plan, ratio);
    const auto whole = hn::ConvertTo(di, position);
    const auto share = hn::Sub(position, hn::ConvertTo(d, whole));
    auto weight = reciprocal;
    if constexpr (kForm == FanForm::kFlat) {
      weight = hn::Mul(reciprocal, reciprocal);
    } else {
      weight = FanReciprocal<T>(hn::MulAdd(x, x, hn::Mul(u, u)));
    }
    // Zero, and not infinite times zero, where there is no ray.
    weight = hn::IfThenElseZero(hn::Gt(u, nearest), weight);
    const auto add = [&](int image, const FanPair<T>& pair) HWY_ATTR {
      T* const sum = run.sums + image * tile.image_sums + i;
      const auto value = hn::MulAdd(share, hn::Sub(pair.high, pair.low), pair.low);
      hn::Store(hn::MulAdd(weight, value, hn::Load(d, sum)), d, sum);
    };
    if constexpr (kLookUp != FanLookUp::kGather && kFanWindows<T>) {
      // One channel of room: rounding may exchange two positions.
      const auto least =
          hn::GetLane(kLookUp == FanLookUp::kRising ? whole : hn::Reverse(di, whole)) - 1;
      const auto first = std::max(decltype(least){0}, least);
      const auto low = hn::Sub(whole, hn::Set(di, first));
      const auto high = hn::Add(low, hn::Set(di, 1));
      for (int image = 0; image < kImages; ++image) {
        const T* const from = run.rows + image * tile.image_stride + first;
        add(image, FanPick(hn::LoadU(d, from), hn::LoadU(d, from + lanes), low, high));
      }
      continue;
    }
    for (int image = 0; image < kImages; ++image) {
      const T* const from = run.rows + image * tile.image_stride;
      add(image, {hn::GatherIndex(d, from, whole), hn::GatherIndex(d, from + 1, whole)});
    }
  }
}

// Whether the pixels of a vector surely see channels within a window, and in which order.
template <class T>
FanLookUp ChooseLookUp(const FanPlan<T>& plan, const FanView& view, double x, double u,
                       int64_t columns) {
  if constexpr (!kFanWindows<T>) return FanLookUp::kGather;
  // Along the run the fan angle turns by turn / distance² for each pixel.
  const double turn = view.dx * u - x * view.du;
  const double last = static_cast<double>(columns - 1), end_u = u + last * view.du;
  double distance = 0;
  if (plan.form == FanForm::kFlat || plan.form == FanForm::kTangent) {
    const double least = std::min(u, end_u);
    distance = least > 0 ? least * least : 0;
  } else {
    const double step = view.dx * view.dx + view.du * view.du;
    const double at = std::clamp(-(x * view.dx + u * view.du) / step, 0.0, last);
    const double near_x = x + at * view.dx, near_u = u + at * view.du;
    distance = near_x * near_x + near_u * near_u;
    if (std::min(u, end_u) <= 0) distance = 0;
  }
  const auto lanes = static_cast<double>(hn::Lanes(hn::ScalableTag<T>()));
  const double span = lanes * plan.channels_per_radian * std::abs(turn);
  if (!(span <= (2 * lanes - 4) * distance)) return FanLookUp::kGather;
  return turn > 0 ? FanLookUp::kRising : FanLookUp::kFalling;
}

template <class T, int kImages, FanForm kForm>
void AddTile(const FanTile<T>& tile) {
  for (int64_t v = 0; v < tile.views; ++v) {
    const FanView& view = tile.plan->views[tile.first_view + v];
    for (int64_t row = 0; row < tile.row_count; ++row) {
      const auto i = static_cast<double>(tile.first_column);
      const auto j = static_cast<double>(tile.first_row + row);
      const double x = view.x + i * view.dx + j * view.ex;
      const double u = view.u + i * view.du + j * view.eu;
      const FanRun<T> run{.x = static_cast<T>(x),
                          .dx = static_cast<T>(view.dx),
                          .u = static_cast<T>(u),
                          .du = static_cast<T>(view.du),
                          .rows = tile.rows + v * tile.view_stride,
                          .sums = tile.sums + row * tile.columns};
      switch (ChooseLookUp(*tile.plan, view, x, u, tile.columns)) {
        case FanLookUp::kRising:
          AddRun<T, FanLookUp::kRising, kImages, kForm>(tile, run);
          break;
        case FanLookUp::kFalling:
          AddRun<T, FanLookUp::kFalling, kImages, kForm>(tile, run);
          break;
        case FanLookUp::kGather:
          AddRun<T, FanLookUp::kGather, kImages, kForm>(tile, run);
          break;
      }
    }
  }
}

template <class T, int kImages>
void AddTile(const FanTile<T>& tile) {
  switch (tile.plan->form) {
    case FanForm::kFlat:
      return AddTile<T, kImages, FanForm::kFlat>(tile);
    case FanForm::kTangent:
      return AddTile<T, kImages, FanForm::kTangent>(tile);
    case FanForm::kShortPolynomial:
      return AddTile<T, kImages, FanForm::kShortPolynomial>(tile);
    case FanForm::kPolynomial:
      return AddTile<T, kImages, FanForm::kPolynomial>(tile);
    case FanForm::kLibrary:
      return AddTile<T, kImages, FanForm::kLibrary>(tile);
  }
}

void AddFloatViews(const FanTile<float>& tile) {
  tile.images == 1 ? AddTile<float, 1>(tile) : AddTile<float, kFanImages>(tile);
}
void AddDoubleViews(const FanTile<double>& tile) {
  tile.images == 1 ? AddTile<double, 1>(tile) : AddTile<double, kFanImages>(tile);
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
