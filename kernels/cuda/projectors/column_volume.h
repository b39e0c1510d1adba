// A copy of a volume with z fastest.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/cuda/device/owners.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

/// [y][x][z] from [z][y][x], both on the device: rays of one detector column then read what lies
/// side by side. Memory grows to the largest volume that has come. Asynchronous on `stream`.
class ColumnVolume {
 public:
  /// Errors: RESOURCE_EXHAUSTED.
  absl::Status Fill(const float* volume, const VolumeGrid& grid, cudaStream_t stream);
  const float* data() const { return data_.data(); }
  static int64_t Bytes(const VolumeGrid& grid) { return grid.voxels() * int64_t{sizeof(float)}; }

 private:
  DeviceBuffer<float> data_;
};

}  // namespace isocenter::cuda
