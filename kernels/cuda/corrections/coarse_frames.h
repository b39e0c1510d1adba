// From frames to blocks of pixels (kernels/ops/corrections.h).
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/cuda/corrections/spread_tables.h"

namespace isocenter::cuda {

struct FrameShape {
  explicit FrameShape(const Detector& detector)
      : rows(detector.rows), columns(detector.columns), blocks(BlockShape::Of(detector)) {}
  int rows, columns;  // of pixels
  BlockShape blocks;
};

/// The means of the blocks of each view go to the first values of its fields.
absl::Status FindBlockMeans(const FrameShape& shape, int64_t views, const float* frames,
                            int64_t fields_of_view, cudaStream_t stream, float* fields);

}  // namespace isocenter::cuda
