// How the drivers of the footprint projectors call their kernels (footprint_runs-inl.h).
#pragma once

#include "kernels/cpu/device/layout.h"
#include "kernels/cpu/projectors/footprint_view.h"

namespace isocenter::cpu {

/// What a run adds to each of its detector columns, per voxel; an element behind, and what reading
/// windows of several registers may touch.
struct alignas(64) RunScratch {
  static constexpr int64_t kStride = kRunHeight + 5 * kLine;
  float* column(int c) { return data + c * kStride; }
  float data[kStride * kMaxColumns] = {};
  // Per vector of voxels, the columns [begin, end) beyond which it is zero.
  int begin[kRunHeight], end[kRunHeight];
};

/// The kernels of one kind of footprint for the machine's instruction set.
struct RunKernels {
  void (*forward)(const RunGeometry& geometry, const float* voxels, RunScratch& scratch);
  /// Writes whole vectors.
  void (*back)(const RunGeometry& geometry, float* voxels);
};

}  // namespace isocenter::cpu
