// How textures are sampled here.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/statusor.h"

namespace isocenter::cuda {

/// Bilinear samples of an array, in pixels, zero outside. The caller destroys the texture before
/// the array.
absl::StatusOr<cudaTextureObject_t> NewBilinearTexture(cudaArray_t array);

}  // namespace isocenter::cuda
