// How much of a sample a voxel gets in the back-projections from shared and from linear memory.
#pragma once

#include "kernels/cuda/fdk/backproject_common.cuh"

namespace isocenter::cuda {

/// A quadratic form in u and v, its coefficients for u², uv, v², u, v and 1.
__device__ inline float Quadratic(const float* q, float u, float v) {
  return fmaf(u, fmaf(q[0], u, fmaf(q[1], v, q[3])), fmaf(v, fmaf(q[2], v, q[4]), q[5]));
}

/// 1/w²: filtered back-projection.
struct FeldkampWeights {
  static constexpr bool kVary = false;
  /// The view of the stack that view i of a launch is.
  __host__ __device__ int ViewOf(int i) const { return i; }
  /// The weight is this over w².
  __device__ float Factor(int, float, float) const { return 1; }
};

/// c_j of the voxel-driven models (MassForm in projectors/footprint_mass.h). The pieces of a voxel
/// are views of their own.
struct MassWeights {
  static constexpr bool kVary = true;
  float q[kMaxViews][6];  // by (u, v) relative to the middle
  float u, v;             // the middle of the detector, where float32 loses least
  int pieces;

  __host__ __device__ int ViewOf(int i) const { return i / pieces; }
  __device__ float Factor(int i, float column, float row) const {
    return sqrtf(Quadratic(q[i], column - u, row - v));
  }
};

/// As LaunchVoxel (backproject_common.cuh), with these weights.
absl::Status LaunchVoxel(const Matrices& matrices, const MassWeights& weights, int views,
                         const float* projections, const VolumeGrid& grid, const Extent& extent,
                         float* volume, cudaStream_t stream);

/// The parabola through the values of something at the first, the middle and the last of kCount
/// places in a row.
template <int kCount>
struct Parabola {
  float first, slope, bend;

  __device__ Parabola(float first, float middle, float last) : first(first) {
    constexpr float kScale = 1.f / (kCount - 1);
    slope = (4 * middle - 3 * first - last) * kScale;
    bend = (2 * first - 4 * middle + 2 * last) * (kScale * kScale);
  }
  __device__ float operator()(int k) const { return fmaf(k, fmaf(k, bend, slope), first); }
};

}  // namespace isocenter::cuda
