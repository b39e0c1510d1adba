#include "kernels/cuda/projectors/column_volume.h"

namespace isocenter::cuda {
namespace {

constexpr int kTile = 32, kRows = 8;

// Tiles of one y: read along x, written along z.
__global__ void FillKernel(const float* volume, int nx, int ny, int nz, float* columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int x0 = blockIdx.x * kTile, z0 = blockIdx.y * kTile;
  for (int y = blockIdx.z; y < ny; y += gridDim.z) {
#pragma unroll
    for (int i = threadIdx.y; i < kTile; i += kRows) {
      const int x = x0 + threadIdx.x, z = z0 + i;
      if (x < nx && z < nz) {
        tile[i][threadIdx.x] = __ldcs(volume + (static_cast<int64_t>(z) * ny + y) * nx + x);
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.y; i < kTile; i += kRows) {
      const int x = x0 + i, z = z0 + threadIdx.x;
      if (x < nx && z < nz) {
        columns[(static_cast<int64_t>(y) * nx + x) * nz + z] = tile[threadIdx.x][i];
      }
    }
    __syncthreads();
  }
}

}  // namespace

absl::Status ColumnVolume::Fill(const float* volume, const VolumeGrid& grid, cudaStream_t stream) {
  ISO_RETURN_IF_ERROR(data_.Reserve(grid.voxels()));
  const dim3 blocks((grid.nx + kTile - 1) / kTile, (grid.nz + kTile - 1) / kTile, grid.ny);
  FillKernel<<<blocks, dim3(kTile, kRows), 0, stream>>>(volume, grid.nx, grid.ny, grid.nz,
                                                        data_.data());
  return ToStatus(cudaGetLastError(), "FillKernel");
}

}  // namespace isocenter::cuda
