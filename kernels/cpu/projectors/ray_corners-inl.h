// What the rays of a block add to the four voxels that each sees in a plane. Included once per
// target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_RAY_CORNERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_RAY_CORNERS_INL_H_
#undef ISOCENTER_KERNELS_CPU_RAY_CORNERS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_RAY_CORNERS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/projectors/ray_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

/// Pixels times the weights of the four voxels: lower and upper along b, lower and upper along c.
struct Corners {
  V ll, lu, ul, uu;
};

/// From the lower neighbours' shares along b and c.
template <class Model>
HWY_INLINE Corners CornersOf(V pixels, V share_b, V share_c, hn::Mask<D> agree) {
  const V lower_b = hn::Mul(pixels, share_b), lower_c = hn::Mul(pixels, share_c);
  Corners corners;
  corners.ll = hn::Mul(pixels, Model::BothLow(share_b, share_c, agree));
  corners.lu = hn::Sub(lower_b, corners.ll);
  corners.ul = hn::Sub(lower_c, corners.ll);
  corners.uu = hn::Sub(hn::Sub(pixels, lower_b), corners.ul);
  return corners;
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
