// A model of an object on coarse voxels, and what it has at its sides.
#include <algorithm>
#include <cstdint>

#include "kernels/cuda/corrections/cone_beam_kernels.h"
#include "kernels/cuda/device/block_sum.cuh"
#include "kernels/cuda/device/hinges.cuh"
#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {
namespace {

__device__ float AttenuationOf(const ModelledTissue& tissue, float hu) {
  if (hu >= tissue.tissue_hu && hu < tissue.bone_hu) return tissue.water;
  return hu < tissue.air_hu ? 0.f : At(tissue.attenuation, hu);
}

// A thread has a voxel of the model: the mean of the volume's in it, of the nearest slice that is
// known.
__global__ void ModelKernel(ConeBeamMerging m, ModelledTissue tissue, KnownSlices known,
                            const float* volume, float* model) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= m.model.x || y >= m.model.y) return;
  const int column = y * m.model.x + x;
  const int first = known.first[column], last = known.last[column];
  float mean = 0;
  if (first <= last) {
    const int z = min(max(static_cast<int>(blockIdx.z), first), last) - m.more_below;
    const int x0 = x * m.merge, x1 = min(x0 + m.merge, m.volume.x);
    const int y0 = y * m.merge, y1 = min(y0 + m.merge, m.volume.y);
    const int z0 = z * m.merge_slices, z1 = min(z0 + m.merge_slices, m.volume.z);
    float sum = 0;
    for (int k = z0; k < z1; ++k) {
      for (int j = y0; j < y1; ++j) {
        const float* const row = volume + (static_cast<int64_t>(k) * m.volume.y + j) * m.volume.x;
        for (int i = x0; i < x1; ++i) sum += AttenuationOf(tissue, row[i]);
      }
    }
    mean = sum / static_cast<float>((x1 - x0) * (y1 - y0) * (z1 - z0));
  }
  model[static_cast<int64_t>(blockIdx.z) * m.model.x * m.model.y + column] = mean;
}

// A block has a column.
__global__ __launch_bounds__(kSumThreads) void CountDenseKernel(int3 size, const int* columns,
                                                                double least, KnownSlices known,
                                                                const float* model,
                                                                double* counts) {
  const int column = columns[blockIdx.x];
  const int last = min(known.last[column], size.z - 1);
  int dense = 0;
  for (int z = known.first[column] + threadIdx.x; z <= last; z += kSumThreads) {
    dense += model[static_cast<int64_t>(z) * size.x * size.y + column] >= least ? 1 : 0;
  }
  const double sum = BlockSum(dense);
  if (threadIdx.x == 0) counts[blockIdx.x] = sum;
}

}  // namespace

absl::Status LaunchConeBeamModel(const ConeBeamMerging& merging, const ModelledTissue& tissue,
                                 KnownSlices known, const float* volume, float* model,
                                 cudaStream_t stream) {
  ModelKernel<<<VoxelBlocks(merging.model), kVoxelThreads, 0, stream>>>(merging, tissue, known,
                                                                        volume, model);
  return ToStatus(cudaGetLastError(), "ModelKernel");
}

absl::Status LaunchCountDense(int3 model_size, const int* columns, int count, double least,
                              KnownSlices known, const float* model, double* counts,
                              cudaStream_t stream) {
  CountDenseKernel<<<count, kSumThreads, 0, stream>>>(model_size, columns, least, known, model,
                                                      counts);
  return ToStatus(cudaGetLastError(), "CountDenseKernel");
}

}  // namespace isocenter::cuda
