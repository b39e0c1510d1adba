// How the drivers of the footprint projectors call their kernels (footprint_runs-inl.h).
#pragma once

#include "kernels/cpu/footprint_view.h"
#include "kernels/cpu/layout.h"

namespace isocenter::cpu {

/// What a run adds to each of its detector columns, per voxel, with an element before and behind.
struct alignas(64) RunScratch {
  static constexpr int64_t kStride = kRunHeight + 2 * kLine;
  float* column(int c) { return data + c * kStride + kLine; }
  float data[kStride * kMaxColumns];
};

/// The kernels of one kind of footprint for the machine's instruction set.
struct RunKernels {
  void (*forward)(const RunGeometry& geometry, const float* voxels, RunScratch& scratch);
  /// Writes whole vectors.
  void (*back)(const RunGeometry& geometry, float* voxels);
};

}  // namespace isocenter::cpu
