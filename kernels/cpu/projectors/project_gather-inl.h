// Sums along rays of any geometry: the four voxels of every lane gathered one by one. Included once
// per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_PROJECT_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_PROJECT_GATHER_INL_H_
#undef ISOCENTER_KERNELS_CPU_PROJECT_GATHER_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_PROJECT_GATHER_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/projectors/ray_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

/// Voxels in memory.
struct GridVoxels {
  const float* data;
  /// Those at `from` + offset; zero where not `inside`.
  HWY_INLINE V At(int64_t from, VI offset, hn::Mask<DI> inside) const {
    const D d;
    // Others read the base; far from it their distance would not fit into 32 bits.
    return hn::IfThenElseZero(hn::RebindMask(d, inside),
                              hn::GatherIndex(d, data + from, hn::IfThenElseZero(inside, offset)));
  }
};

/// Voxels of which each is one.
struct Ones {
  static HWY_INLINE V At(int64_t, VI, hn::Mask<DI> inside) {
    const D d;
    return hn::IfThenElseZero(hn::RebindMask(d, inside), hn::Set(d, 1.0f));
  }
};

/// Adds what the rays of a block see in the planes of `range` (relative to the block's reference).
/// Voxels outside of the grid count as zero and are not read.
template <class Model, class Voxels>
V AddGathered(const RayBlock& block, const VolumeShape& volume, const Voxels& voxels, RayAxes axes,
              PlaneRange range, V sum) {
  const D d;
  const DI di;
  const auto stride_b = hn::Set(di, static_cast<int32_t>(volume.stride[axes.b]));
  const auto stride_c = hn::Set(di, static_cast<int32_t>(volume.stride[axes.c]));
  const VI low_b = hn::Set(di, -block.base_b);
  const VI low_c = hn::Set(di, -block.base_c);
  const VI high_b = hn::Set(di, volume.size[axes.b] - 1 - block.base_b);
  const VI high_c = hn::Set(di, volume.size[axes.c] - 1 - block.base_c);
  const VI one = hn::Set(di, 1);
  const int64_t base = block.base_b * volume.stride[axes.b] + block.base_c * volume.stride[axes.c];
  for (int plane = range.first; plane < range.last; ++plane) {
    const V step = hn::Set(d, static_cast<float>(plane));
    const V b = hn::MulAdd(step, block.slope_b, block.b);
    const V c = hn::MulAdd(step, block.slope_c, block.c);
    const V floor_b = hn::Floor(b), floor_c = hn::Floor(c);
    const V share_b = Model::Share(hn::Sub(hn::Add(floor_b, hn::Set(d, 1.0f)), b), block.inverse_b);
    const V share_c = Model::Share(hn::Sub(hn::Add(floor_c, hn::Set(d, 1.0f)), c), block.inverse_c);
    const VI b0 = hn::ConvertTo(di, floor_b), b1 = hn::Add(b0, one);
    const VI c0 = hn::ConvertTo(di, floor_c), c1 = hn::Add(c0, one);
    const VI near_b0 = hn::Clamp(b0, low_b, high_b), near_b1 = hn::Clamp(b1, low_b, high_b);
    const VI near_c0 = hn::Clamp(c0, low_c, high_c), near_c1 = hn::Clamp(c1, low_c, high_c);
    const auto in_b0 = hn::Eq(b0, near_b0), in_b1 = hn::Eq(b1, near_b1);
    const auto in_c0 = hn::Eq(c0, near_c0), in_c1 = hn::Eq(c1, near_c1);
    const VI at_b0 = hn::Mul(near_b0, stride_b), at_b1 = hn::Mul(near_b1, stride_b);
    const VI at_c0 = hn::Mul(near_c0, stride_c), at_c1 = hn::Mul(near_c1, stride_c);
    const int64_t plane_base = base + (block.reference + plane) * volume.stride[axes.a];
    const auto gather = [&](VI at_b, VI at_c, auto in_b, auto in_c) HWY_ATTR {
      return voxels.At(plane_base, hn::Add(at_b, at_c), hn::And(in_b, in_c));
    };
    sum = Model::Add(sum, share_b, share_c, block.agree, gather(at_b0, at_c0, in_b0, in_c0),
                     gather(at_b0, at_c1, in_b0, in_c1), gather(at_b1, at_c0, in_b1, in_c0),
                     gather(at_b1, at_c1, in_b1, in_c1));
  }
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
