// Footprints along a short piece of a column of voxels. Seen from its middle the trapezoid only
// moves and scales with 1 / w, and where one voxel's rectangle ends the next one's begins, so that
// neither is worked out anew per voxel.
#pragma once

#include "kernels/cuda/projectors/separable_footprint/separable_footprint.cuh"

namespace isocenter::cuda {

/// A column of voxels along the axial axis; numerators are u·w and v·w.
struct FootprintWalk {
  float u, v, w;                  // numerators and w in the grid's middle along the axial axis
  float per_u, per_v, per_w;      // and what they grow by per voxel
  Trapezoid<float> shape;         // around u, of the voxel in the middle of the piece
  float per_depth;                // 1 / w of that voxel
  float amount;                   // what all heights share, with the sign of per_v·w - per_w·v
  float across, spacing, source;  // squared distance across the axial axis, mm; along it
};

/// Of the voxels `first` ... `last` (counted from the middle) through (x, y, z), which is 0 along
/// the axial axis. False where at an end of the piece an edge of the trapezoid would lie 2e-4
/// pixels or more from where TrapezoidOf has it, to the one side at one end and to the other at the
/// other (float32 has u itself, 620 pixels from the middle, in steps of 6e-5), or where a voxel may
/// not be in front of the source.
__device__ inline bool WalkOf(const FootprintView<float>& g, int axial, float x, float y, float z,
                              float first, float last, FootprintWalk& walk) {
  const auto row = [&](int i) {
    return fmaf(g.m[i], x, fmaf(g.m[i + 1], y, fmaf(g.m[i + 2], z, g.m[i + 3])));
  };
  const auto pick = [&](int i) {
    return axial == 0 ? g.m[i] : axial == 1 ? g.m[i + 1] : g.m[i + 2];
  };
  walk.u = row(0), walk.v = row(4), walk.w = row(8);
  walk.per_u = pick(0), walk.per_v = pick(4), walk.per_w = pick(8);
  const float middle = 0.5f * (first + last), half = 0.5f * (last - first);
  Seen<float> seen;
  seen.w = fmaf(walk.per_w, middle, walk.w);
  seen.r = Reciprocal(seen.w);
  seen.u = fmaf(walk.per_u, middle, walk.u) * seen.r;
  seen.v = fmaf(walk.per_v, middle, walk.v) * seen.r;
  // b and c of TrapezoidOf change as u does, their depths by other factors than the voxel's own.
  const float turned = (fabsf(g.half_b_w) + fabsf(g.half_c_w)) * seen.r;
  const float moved = half * fabsf(fmaf(-seen.u, walk.per_w, walk.per_u)) * seen.r;
  const float scaled = half * fabsf(walk.per_w) * seen.r;
  Trapezoid<float>& shape = walk.shape;
  shape = TrapezoidOf(g, seen);
  constexpr float kMost = 2e-4f, kMostScaled = 0.01f;
  if (!(turned * (moved + scaled * (shape.u3 - shape.u0)) < kMost && turned < 0.1f &&
        scaled + 0.5f * fabsf(walk.per_w) * seen.r < kMostScaled && shape.area > 0)) {
    return false;
  }
  shape.u0 -= seen.u, shape.u1 -= seen.u, shape.u2 -= seen.u, shape.u3 -= seen.u;
  walk.per_depth = seen.r;
  // A rectangle's length is |per_v·w - per_w·v| / (w² - per_w² / 4), above the line the same for
  // all.
  walk.amount = g.mass * Reciprocal(fmaf(walk.per_v, seen.w, -walk.per_w * (seen.v * seen.w))) *
                Reciprocal(shape.area);
  const float mm[] = {fmaf(x, g.spacing[0], -g.source[0]), fmaf(y, g.spacing[1], -g.source[1]),
                      fmaf(z, g.spacing[2], -g.source[2])};
  walk.across = (axial == 0 ? 0 : mm[0] * mm[0]) + (axial == 1 ? 0 : mm[1] * mm[1]) +
                (axial == 2 ? 0 : mm[2] * mm[2]);
  walk.spacing = axial == 0 ? g.spacing[0] : axial == 1 ? g.spacing[1] : g.spacing[2];
  walk.source = axial == 0 ? g.source[0] : axial == 1 ? g.source[1] : g.source[2];
  return true;
}

/// Adds voxels first ... last of `voxels`, `stride` apart, to kRun pixels of the detector column at
/// u. `middle` is the index of the grid's middle, `low_v` where the first pixel begins.
template <int kRun>
__device__ inline void AddWalk(const FootprintWalk& walk, int first, int last, float middle,
                               float u, float low_v, const float* voxels, int64_t stride,
                               float (&sum)[kRun]) {
  // How much of each pixel lies below an edge between two voxels.
  const auto fill = [&](float at, float(&below)[kRun]) {
    const float edge =
        fmaf(walk.per_v, at, walk.v) * Reciprocal(fmaf(walk.per_w, at, walk.w)) - low_v;
#pragma unroll
    for (int row = 0; row < kRun; ++row) below[row] = __saturatef(edge - row);
  };
  float below[kRun];
  fill(first - middle - 0.5f, below);
  for (int k = first; k <= last; ++k) {
    const float at = k - middle;
    float above[kRun];
    fill(at + 0.5f, above);
    const float w = fmaf(walk.per_w, at, walk.w), r = Reciprocal(w);
    const float scale = w * walk.per_depth;
    const float from = fmaf(-fmaf(walk.per_u, at, walk.u), r, u) * scale;
    const float share = AreaUpTo(walk.shape, fmaf(0.5f, scale, from)) -
                        AreaUpTo(walk.shape, fmaf(-0.5f, scale, from));
    const float dz = fmaf(at, walk.spacing, -walk.source);
    const float turn = 0.5f * walk.per_w * r;
    const float height =
        walk.amount * RootOf(fmaf(dz, dz, walk.across)) * r * fmaf(-turn, turn, 1.f);
    const float value = share > 0 ? share * height * __ldg(voxels + k * stride) : 0;
#pragma unroll
    for (int row = 0; row < kRun; ++row) {
      sum[row] = fmaf(value, above[row] - below[row], sum[row]);
      below[row] = above[row];
    }
  }
}

}  // namespace isocenter::cuda
