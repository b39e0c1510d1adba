// Short runs of memory held in registers, and elements picked from there by index: much faster than
// gathers. Included once per target by Highway's foreach_target, for targets that can permute
// across a register (AVX2, AVX-512).

#if defined(ISOCENTER_KERNELS_CPU_REGISTER_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_REGISTER_WINDOW_INL_H_
#undef ISOCENTER_KERNELS_CPU_REGISTER_WINDOW_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_REGISTER_WINDOW_INL_H_
#endif

#include <array>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/cpu/device/chosen_lanes.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;

inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
// Keeps a value in a register: without it GCC 12 loads windows and constants again and again, and
// loads are what bounds this kernel.
HWY_INLINE V Pinned(V value) {
  asm("" : "+v"(value.raw));
  return value;
}

// 1 / value to the last bit or two: an estimate and one step of Newton's method, several times
// faster than a division.
HWY_INLINE V Reciprocal(V value) {
  const V estimate = hn::ApproximateReciprocal(value);
  return hn::Mul(estimate, hn::NegMulAdd(value, estimate, hn::Set(D(), 2.0f)));
}

// The whole part of values from 0 on that has room in 32 bits. hn::ConvertTo would make sure of
// values out of range first.
HWY_INLINE VI WholePart(V value) {
#if HWY_TARGET == HWY_AVX3
  return VI{_mm512_cvttps_epi32(value.raw)};
#else
  return VI{_mm256_cvttps_epi32(value.raw)};
#endif
}

// Appends the lanes of `index` that `mask` chooses.
HWY_INLINE void Append(VI index, hn::Mask<D> mask, int32_t* list, int& count) {
#if HWY_TARGET == HWY_AVX3
  // To a register and from there to memory: compressing stores are slow on Zen 4.
  _mm512_storeu_si512(list + count, _mm512_maskz_compress_epi32(mask.raw, index.raw));
  count += __builtin_popcount(mask.raw);
#else
  // hn::Compress of Highway 1.0.3 copies its table to the stack in every call.
  const auto bits = static_cast<unsigned>(_mm256_movemask_ps(mask.raw));
  const __m128i lanes =
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kChosenLanes[bits].data()));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(list + count),
                      _mm256_permutevar8x32_epi32(index.raw, _mm256_cvtepu8_epi32(lanes)));
  count += __builtin_popcount(bits);
#endif
}

// Element `index` of kWindow registers in a row. `high` holds what of the index tells the registers
// beyond the first permutation apart.
#if HWY_TARGET == HWY_AVX3
template <int kWindow>
HWY_INLINE V Pick(const V (&w)[kWindow], VI index, __mmask16 high) {
  if constexpr (kWindow == 1) return V{_mm512_permutexvar_ps(index.raw, w[0].raw)};
  if constexpr (kWindow == 2) return V{_mm512_permutex2var_ps(w[0].raw, index.raw, w[1].raw)};
  if constexpr (kWindow == 3) {
    return V{_mm512_mask_permutexvar_ps(_mm512_permutex2var_ps(w[0].raw, index.raw, w[1].raw), high,
                                        index.raw, w[2].raw)};
  }
  if constexpr (kWindow == 4) {
    return V{_mm512_mask_blend_ps(high, _mm512_permutex2var_ps(w[0].raw, index.raw, w[1].raw),
                                  _mm512_permutex2var_ps(w[2].raw, index.raw, w[3].raw))};
  }
}
template <int kWindow>
HWY_INLINE __mmask16 High(VI index) {
  if constexpr (kWindow <= 2) return 0;
  return _mm512_test_epi32_mask(index.raw, _mm512_set1_epi32(2 * kLanes));
}
#else
struct HighBits {
  __m256 second, third;  // sign bits: in an odd register; beyond the second
};
template <int kWindow>
HWY_INLINE V Pick(const V (&w)[kWindow], VI index, HighBits high) {
  const auto from = [&](int i) HWY_ATTR { return _mm256_permutevar8x32_ps(w[i].raw, index.raw); };
  if constexpr (kWindow == 1) return V{from(0)};
  if constexpr (kWindow == 2) return V{_mm256_blendv_ps(from(0), from(1), high.second)};
  if constexpr (kWindow == 3) {
    return V{
        _mm256_blendv_ps(_mm256_blendv_ps(from(0), from(1), high.second), from(2), high.third)};
  }
  if constexpr (kWindow == 4) {
    return V{_mm256_blendv_ps(_mm256_blendv_ps(from(0), from(1), high.second),
                              _mm256_blendv_ps(from(2), from(3), high.second), high.third)};
  }
}
template <int kWindow>
HWY_INLINE HighBits High(VI index) {
  HighBits high{};
  if constexpr (kWindow >= 2) high.second = _mm256_castsi256_ps(_mm256_slli_epi32(index.raw, 28));
  if constexpr (kWindow >= 3) high.third = _mm256_castsi256_ps(_mm256_slli_epi32(index.raw, 27));
  return high;
}
#endif

struct Pair {
  V low, high;  // elements `index` and `index` + 1
};
// How both are picked: from kWindow registers that hold the last of them, too; or each from its
// own, of which the second ones begin an element later. Where that saves a register, it saves the
// permutations and blends of one, twice, for loads.
enum class Windows { kOne, kTwo };
template <int kWindow, Windows kWindows>
class PairPicker {
 public:
  PairPicker() = default;
  HWY_INLINE explicit PairPicker(VI index) : low_(index), high_low_(High<kWindow>(index)) {
    if constexpr (kWindows == Windows::kOne) {
      high_ = hn::Add(index, hn::Set(DI(), 1));
      high_high_ = High<kWindow>(high_);
    }
  }
  HWY_INLINE Pair From(const float* first) const {
    V window[kWindow];
    Fill(first, window);
    const V low = Pick<kWindow>(window, low_, high_low_);
    if constexpr (kWindows == Windows::kOne) {
      return {low, Pick<kWindow>(window, high_, high_high_)};
    }
    Fill(first + 1, window);
    return {low, Pick<kWindow>(window, low_, high_low_)};
  }

 private:
  static HWY_INLINE void Fill(const float* first, V (&window)[kWindow]) {
    for (int r = 0; r < kWindow; ++r) window[r] = Pinned(hn::LoadU(D(), first + r * kLanes));
  }
  VI low_, high_;
  decltype(High<kWindow>(VI())) high_low_, high_high_;
};

// The same of elements so far apart that most of what a register would hold is not asked for: each
// pair is a load of its own, which takes half as long as a gather on Zen 4.
class ScatteredPairPicker {
 public:
  ScatteredPairPicker() = default;
  HWY_INLINE explicit ScatteredPairPicker(VI index) { hn::Store(index, DI(), index_); }
  HWY_INLINE Pair From(const float* first) const {
#if HWY_TARGET == HWY_AVX3
    __m256 low[2], high[2];
    Eight(first, index_, low[0], high[0]);
    Eight(first, index_ + 8, low[1], high[1]);
    return {V{Joined(low)}, V{Joined(high)}};
#else
    Pair pair;
    Eight(first, index_, pair.low.raw, pair.high.raw);
    return pair;
#endif
  }

 private:
  static HWY_INLINE __m128 Two(const float* first, const int32_t* index) {
    const __m128i one = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(first + index[0]));
    return _mm_loadh_pi(_mm_castsi128_ps(one), reinterpret_cast<const __m64*>(first + index[1]));
  }
  static HWY_INLINE void Eight(const float* first, const int32_t* index, __m256& low,
                               __m256& high) {
    const __m256 a =
        _mm256_insertf128_ps(_mm256_castps128_ps256(Two(first, index)), Two(first, index + 4), 1);
    const __m256 b = _mm256_insertf128_ps(_mm256_castps128_ps256(Two(first, index + 2)),
                                          Two(first, index + 6), 1);
    low = _mm256_shuffle_ps(a, b, 0x88);
    high = _mm256_shuffle_ps(a, b, 0xDD);
  }
#if HWY_TARGET == HWY_AVX3
  static HWY_INLINE __m512 Joined(const __m256 (&half)[2]) {
    return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(half[0])),
                                               _mm256_castps_pd(half[1]), 1));
  }
#endif
  alignas(4 * kLanes) int32_t index_[kLanes];
};

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX3 or AVX2
#endif  // per-target include guard
