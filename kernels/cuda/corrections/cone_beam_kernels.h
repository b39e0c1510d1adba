// The parts of ConeBeamArtefact (contract: kernels/ops/second_pass.h) on a device, as launches on a
// stream. All pointers are of device memory.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/ops/second_pass.h"

namespace isocenter::cuda {

/// How a model's voxels lie in a volume's.
struct ConeBeamMerging {
  int merge, merge_slices, more_below;
  int3 volume, model;  // voxels
};
/// Of each column of a model, the slices between which it is known.
struct KnownSlices {
  const int* first;
  const int* last;
  __device__ bool operator()(int column, int z) const {
    return z >= first[column] && z <= last[column];
  }
};

/// Voxels in HU as they are modelled.
struct ModelledTissue {
  ops::HounsfieldHinges attenuation;
  float air_hu, tissue_hu, bone_hu, water;
};
absl::Status LaunchConeBeamModel(const ConeBeamMerging& merging, const ModelledTissue& tissue,
                                 KnownSlices known, const float* volume, float* model,
                                 cudaStream_t stream);
/// counts[i]: of columns[i].
absl::Status LaunchCountDense(int3 model_size, const int* columns, int count, double least,
                              KnownSlices known, const float* model, double* counts,
                              cudaStream_t stream);

/// `weights`: 1 for known voxels beside which there is no edge, else 0. `reconstructed`, in HU,
/// becomes its difference to the model, times the weights.
absl::Status LaunchConeBeamDifference(int3 size, KnownSlices known, double water_per_mm,
                                      const float* model, float* reconstructed, float* weights,
                                      cudaStream_t stream);
/// `found`: the weighted mean by a Gaussian, `smoothed_weights`: theirs. The first two are
/// overwritten.
absl::Status LaunchWeightedMean(int3 size, float* weighted, float* weights, float* smoothed_weights,
                                float* found, cudaStream_t stream);

/// Of each height.
absl::Status LaunchConeBeamSums(int3 size, const ops::ConeBeamHeights& heights,
                                const float* weights, const float* found, ops::ConeBeamSums* sums,
                                cudaStream_t stream);
/// Of each slice, what is kept.
absl::Status LaunchKeepShares(int3 size, const ops::ConeBeamHeights& heights, KnownSlices known,
                              const float* shares, float* found, ops::ConeBeamArtefact::Kept* kept,
                              cudaStream_t stream);

absl::Status LaunchTakeOff(const ConeBeamMerging& merging, const ops::HounsfieldScale& scale,
                           const float* artefact, float* volume, cudaStream_t stream);

/// Threads that have a voxel each.
inline const dim3 kVoxelThreads(32, 8);
inline dim3 VoxelBlocks(int3 size) {
  return dim3((size.x + 31) / 32, (size.y + 7) / 8, static_cast<unsigned>(size.z));
}

}  // namespace isocenter::cuda
