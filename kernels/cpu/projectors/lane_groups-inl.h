// Sums over groups of neighbouring lanes. Included once per target by Highway's foreach_target, for
// targets that can permute across a register (AVX2, AVX-512).

#if defined(ISOCENTER_KERNELS_CPU_LANE_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_LANE_GROUPS_INL_H_
#undef ISOCENTER_KERNELS_CPU_LANE_GROUPS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_LANE_GROUPS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/device/register_window-inl.h"

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

/// Lane i + 1 in lane i; zero in the last.
HWY_INLINE V OneLaneDown(V value) {
  const __m512i lanes = _mm512_castps_si512(value.raw);
  return V{_mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_setzero_si512(), lanes, 1))};
}
/// Lane i - 1 in lane i; zero in the first.
HWY_INLINE V OneLaneUp(V value) {
  const __m512i lanes = _mm512_castps_si512(value.raw);
  return V{_mm512_castsi512_ps(_mm512_alignr_epi32(lanes, _mm512_setzero_si512(), 15))};
}

/// Groups of up to 2^kLevels neighbouring lanes that have the same index. Indices are not negative.
template <int kLevels>
class LaneGroups {
 public:
  HWY_INLINE explicit LaneGroups(VI index) {
    same_[0] = Same<1>(index);
    if constexpr (kLevels > 1) same_[1] = Same<2>(index);
    if constexpr (kLevels > 2) same_[2] = Same<4>(index);
    if constexpr (kLevels > 3) same_[3] = Same<8>(index);
    first_ = static_cast<__mmask16>(~(same_[0] << 1));
  }
  /// The groups' sums, in their order, in the first lanes; zeros in the others.
  HWY_INLINE V Sums(V value) const {
    __m512 sums = AddLane<1>(value.raw, same_[0]);
    if constexpr (kLevels > 1) sums = AddLane<2>(sums, same_[1]);
    if constexpr (kLevels > 2) sums = AddLane<4>(sums, same_[2]);
    if constexpr (kLevels > 3) sums = AddLane<8>(sums, same_[3]);
    return V{_mm512_maskz_compress_ps(first_, sums)};
  }

 private:
  // Lanes whose index is that of the lane kDistance further.
  template <int kDistance>
  static HWY_INLINE __mmask16 Same(VI index) {
    return _mm512_cmpeq_epi32_mask(
        index.raw, _mm512_alignr_epi32(_mm512_set1_epi32(-1), index.raw, kDistance));
  }
  template <int kDistance>
  static HWY_INLINE __m512 AddLane(__m512 sums, __mmask16 same) {
    const __m512i lanes = _mm512_castps_si512(sums);
    return _mm512_mask_add_ps(sums, same, sums,
                              _mm512_castsi512_ps(_mm512_alignr_epi32(lanes, lanes, kDistance)));
  }

  __mmask16 same_[kLevels], first_;
};

#else

// Lane i + kDistance in lane i, around the end.
template <int kDistance>
HWY_INLINE __m256i LanesFrom() {
  return _mm256_and_si256(
      _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(kDistance)),
      _mm256_set1_epi32(7));
}

/// Lane i + 1 in lane i; zero in the last.
HWY_INLINE V OneLaneDown(V value) {
  return V{_mm256_blend_ps(_mm256_permutevar8x32_ps(value.raw, LanesFrom<1>()), _mm256_setzero_ps(),
                           0x80)};
}
/// Lane i - 1 in lane i; zero in the first.
HWY_INLINE V OneLaneUp(V value) {
  return V{_mm256_blend_ps(_mm256_permutevar8x32_ps(value.raw, LanesFrom<-1>()),
                           _mm256_setzero_ps(), 0x01)};
}

/// Groups of up to 2^kLevels neighbouring lanes that have the same index. Indices are not negative.
template <int kLevels>
class LaneGroups {
 public:
  HWY_INLINE explicit LaneGroups(VI index) {
    same_[0] = Same<1>(index);
    if constexpr (kLevels > 1) same_[1] = Same<2>(index);
    if constexpr (kLevels > 2) same_[2] = Same<4>(index);
    const auto same = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(same_[0])));
    const unsigned first = ~(same << 1) & 0xff;
    order_ = _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kChosenLanes[first].data())));
    used_ = _mm256_cmpgt_epi32(_mm256_set1_epi32(__builtin_popcount(first)), LanesFrom<0>());
  }
  /// The groups' sums, in their order, in the first lanes; zeros in the others.
  HWY_INLINE V Sums(V value) const {
    __m256 sums = AddLane<1>(value.raw, same_[0]);
    if constexpr (kLevels > 1) sums = AddLane<2>(sums, same_[1]);
    if constexpr (kLevels > 2) sums = AddLane<4>(sums, same_[2]);
    return V{_mm256_and_ps(_mm256_permutevar8x32_ps(sums, order_), _mm256_castsi256_ps(used_))};
  }

 private:
  // Lanes whose index is that of the lane kDistance further.
  template <int kDistance>
  static HWY_INLINE __m256i Same(VI index) {
    const __m256i other = _mm256_permutevar8x32_epi32(index.raw, LanesFrom<kDistance>());
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(LanesFrom<0>(), _mm256_set1_epi32(7 - kDistance)),
                               _mm256_cmpeq_epi32(index.raw, other));
  }
  template <int kDistance>
  static HWY_INLINE __m256 AddLane(__m256 sums, __m256i same) {
    return _mm256_add_ps(sums, _mm256_and_ps(_mm256_permutevar8x32_ps(sums, LanesFrom<kDistance>()),
                                             _mm256_castsi256_ps(same)));
  }

  __m256i same_[kLevels], order_, used_;
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // AVX3 or AVX2
#endif  // per-target include guard
