// The kernels of the priors: one column of voxels along z at a time, one lane per voxel. Included
// once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_VARIATION_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_VARIATION_COLUMNS_INL_H_
#undef ISOCENTER_KERNELS_CPU_VARIATION_COLUMNS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_VARIATION_COLUMNS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/iterative/lane_sums-inl.h"
#include "kernels/cpu/iterative/variation_columns.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The factors g_a in all lanes.
template <class D>
struct Gains {
  hn::Vec<D> x, y, z;
  explicit Gains(const float (&g)[3])
      : x(hn::Set(D(), g[0])), y(hn::Set(D(), g[1])), z(hn::Set(D(), g[2])) {}
};

template <class D>
struct Gradient {
  hn::Vec<D> x, y, z;
  HWY_INLINE Gradient(const Gains<D>& g, hn::Vec<D> at, hn::Vec<D> right, hn::Vec<D> up,
                      hn::Vec<D> above)
      : x(hn::Mul(g.x, hn::Sub(right, at))),
        y(hn::Mul(g.y, hn::Sub(up, at))),
        z(hn::Mul(g.z, hn::Sub(above, at))) {}
  HWY_INLINE hn::Vec<D> SquarePlus(hn::Vec<D> more) const {
    return hn::MulAdd(x, x, hn::MulAdd(y, y, hn::MulAdd(z, z, more)));
  }
};

inline void TotalVariationGradient(const Neighborhood& f, const PriorParameters& p, float* out,
                                   int64_t length) {
  const hn::ScalableTag<float> d;
  using D = decltype(d);
  using V = hn::Vec<D>;
  const Gains<D> g(p.gain);
  const V strength = hn::Set(d, p.strength), one = hn::Set(d, 1.0f);
  const V epsilon_square = hn::Set(d, p.scale * p.scale);
  const auto inverse_norm = [&](const Gradient<D>& gradient) HWY_ATTR {
    return hn::Div(one, hn::Sqrt(gradient.SquarePlus(epsilon_square)));
  };
  for (int64_t i = 0; i < length; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto load = [&](const float* column, int64_t dz)
                          HWY_ATTR { return hn::LoadU(d, column + i + dz); };
    const V at = load(f.center, 0), left = load(f.left, 0), down = load(f.down, 0);
    const V below = load(f.center, -1);
    // The voxel's own norm, and those of its three neighbours that contain it.
    const Gradient<D> own(g, at, load(f.right, 0), load(f.up, 0), load(f.center, 1));
    const Gradient<D> of_left(g, left, at, load(f.left_up, 0), load(f.left, 1));
    const Gradient<D> of_down(g, down, load(f.right_down, 0), at, load(f.down, 1));
    const Gradient<D> of_below(g, below, load(f.right, -1), load(f.up, -1), at);
    const V own_part = hn::MulAdd(g.x, own.x, hn::MulAdd(g.y, own.y, hn::Mul(g.z, own.z)));
    V sum = hn::Mul(hn::Mul(g.x, of_left.x), inverse_norm(of_left));
    sum = hn::MulAdd(hn::Mul(g.y, of_down.y), inverse_norm(of_down), sum);
    sum = hn::MulAdd(hn::Mul(g.z, of_below.z), inverse_norm(of_below), sum);
    sum = hn::NegMulAdd(own_part, inverse_norm(own), sum);
    hn::StoreU(hn::MulAdd(strength, sum, hn::LoadU(d, out + i)), d, out + i);
  }
}

inline void TotalVariation(const Neighborhood& f, const PriorParameters& p, int64_t length,
                           LaneSums& sums) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> d;
  using D = std::remove_const_t<decltype(d)>;
  using V = hn::Vec<D>;
  const Gains<D> g(p.gain);
  const V epsilon = hn::Set(d, p.scale), square = hn::Set(d, p.scale * p.scale);
  const V least = hn::Set(d, std::numeric_limits<float>::min());
  SumRun(length, sums, [&](int64_t i, hn::Vec<decltype(wide)> sum) HWY_ATTR {
    const Gradient<D> own(g, hn::LoadU(d, f.center + i), hn::LoadU(d, f.right + i),
                          hn::LoadU(d, f.up + i), hn::LoadU(d, f.center + i + 1));
    // √(t + ε²) - ε without the difference of two numbers that are nearly equal.
    const V t = own.SquarePlus(hn::Zero(d));
    const V root = hn::Sqrt(hn::Add(t, square));
    return hn::Add(sum, hn::PromoteTo(wide, hn::Div(t, hn::Max(hn::Add(root, epsilon), least))));
  });
}

inline void HuberGradient(const Neighborhood& f, const PriorParameters& p, float* out,
                          int64_t length) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V delta = hn::Set(d, p.scale), minus_delta = hn::Neg(delta);
  const auto slope = [&](V difference)
                         HWY_ATTR { return hn::Max(minus_delta, hn::Min(difference, delta)); };
  V weight[3];
  for (int a = 0; a < 3; ++a) weight[a] = hn::Set(d, p.strength * p.gain[a] * p.gain[a]);
  for (int64_t i = 0; i < length; i += static_cast<int64_t>(hn::Lanes(d))) {
    const V at = hn::LoadU(d, f.center + i);
    const auto pair_of = [&](const float* before, const float* after) HWY_ATTR {
      return hn::Sub(slope(hn::Sub(at, hn::LoadU(d, before + i))),
                     slope(hn::Sub(hn::LoadU(d, after + i), at)));
    };
    V sum = hn::LoadU(d, out + i);
    sum = hn::MulAdd(weight[0], pair_of(f.left, f.right), sum);
    sum = hn::MulAdd(weight[1], pair_of(f.down, f.up), sum);
    sum = hn::MulAdd(weight[2], pair_of(f.center - 1, f.center + 1), sum);
    hn::StoreU(sum, d, out + i);
  }
}

inline void Huber(const Neighborhood& f, const PriorParameters& p, int64_t length, LaneSums& sums) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, decltype(wide)> d;
  using V = hn::Vec<std::remove_const_t<decltype(d)>>;
  const V delta = hn::Set(d, p.scale), half = hn::Set(d, 0.5f);
  V weight[3];
  for (int a = 0; a < 3; ++a) weight[a] = hn::Set(d, p.gain[a] * p.gain[a]);
  SumRun(length, sums, [&](int64_t i, hn::Vec<decltype(wide)> sum) HWY_ATTR {
    const V at = hn::LoadU(d, f.center + i);
    const auto potential = [&](const float* after) HWY_ATTR {
      const V t = hn::Abs(hn::Sub(hn::LoadU(d, after + i), at));
      const V quadratic = hn::Min(t, delta);
      return hn::Mul(quadratic, hn::NegMulAdd(half, quadratic, t));
    };
    V value = hn::Mul(weight[0], potential(f.right));
    value = hn::MulAdd(weight[1], potential(f.up), value);
    value = hn::MulAdd(weight[2], potential(f.center + 1), value);
    return hn::Add(sum, hn::PromoteTo(wide, value));
  });
}

inline void AscendDual(const Neighborhood& f, const PriorParameters& p, const DualColumns& dual,
                       int64_t length) {
  const hn::ScalableTag<float> d;
  using D = std::remove_const_t<decltype(d)>;
  using V = hn::Vec<D>;
  const Gains<D> g(p.gain);
  const V step = hn::Set(d, p.strength), inverse_bound = hn::Set(d, 1 / p.scale);
  const V one = hn::Set(d, 1.0f);
  for (int64_t i = 0; i < length; i += static_cast<int64_t>(hn::Lanes(d))) {
    const Gradient<D> gradient(g, hn::LoadU(d, f.center + i), hn::LoadU(d, f.right + i),
                               hn::LoadU(d, f.up + i), hn::LoadU(d, f.center + i + 1));
    const V x = hn::MulAdd(step, gradient.x, hn::LoadU(d, dual.x + i));
    const V y = hn::MulAdd(step, gradient.y, hn::LoadU(d, dual.y + i));
    const V z = hn::MulAdd(step, gradient.z, hn::LoadU(d, dual.z + i));
    const V norm = hn::Sqrt(hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z))));
    const V factor = hn::Div(one, hn::Max(one, hn::Mul(norm, inverse_bound)));
    hn::StoreU(hn::Mul(factor, x), d, dual.x + i);
    hn::StoreU(hn::Mul(factor, y), d, dual.y + i);
    hn::StoreU(hn::Mul(factor, z), d, dual.z + i);
  }
}

inline void AddDivergence(const DivergenceColumns& p, float* out, int64_t length) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  V after[3], before[3];
  for (int a = 0; a < 3; ++a) {
    after[a] = hn::Set(d, p.weight_here[a]);
    before[a] = hn::Set(d, p.weight_before[a]);
  }
  for (int64_t i = 0; i < length; i += static_cast<int64_t>(hn::Lanes(d))) {
    V sum = hn::LoadU(d, out + i);
    for (int a = 0; a < 3; ++a) {
      sum = hn::MulAdd(after[a], hn::LoadU(d, p.here[a] + i), sum);
      sum = hn::NegMulAdd(before[a], hn::LoadU(d, p.before[a] + i), sum);
    }
    hn::StoreU(sum, d, out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
