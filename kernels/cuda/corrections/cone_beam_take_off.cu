// An artefact on coarse voxels, taken off a volume.
#include <cstdint>

#include "kernels/cuda/corrections/cone_beam_kernels.h"
#include "kernels/cuda/device/hinges.cuh"
#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {
namespace {

// Between which two of `count` voxels the middle of voxel `i` of `merge` times as many is.
struct Between {
  int first, second;
  float share;
  // In halves of a fine voxel, so that nothing is rounded but the share.
  __device__ Between(int i, int merge, int before, int count) {
    const int halves = max(0, 2 * i + 1 - merge + 2 * merge * before);
    first = min(halves / (2 * merge), count - 1);
    second = min(first + 1, count - 1);
    share = static_cast<float>(halves - 2 * merge * first) / static_cast<float>(2 * merge);
  }
  __device__ float Of(float a, float b) const { return a + share * (b - a); }
};

struct Scale {
  bool linear;
  ops::HounsfieldHinges attenuation, hounsfield;
  float per_hu, to_measured;  // 1/mm of an HU; and back
};

// A thread has a voxel of the volume.
__global__ void TakeOffKernel(ConeBeamMerging m, Scale scale, const float* artefact,
                              float* volume) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= m.volume.x || y >= m.volume.y) return;
  const Between across(x, m.merge, 0, m.model.x), down(y, m.merge, 0, m.model.y);
  const Between along(z, m.merge_slices, m.more_below, m.model.z);
  const auto row = [&](int k, int j) {
    return artefact + (static_cast<int64_t>(k) * m.model.y + j) * m.model.x;
  };
  const float* const a = row(along.first, down.first);
  const float* const b = row(along.first, down.second);
  const float* const c = row(along.second, down.first);
  const float* const d = row(along.second, down.second);
  const auto at = [&](int i) { return along.Of(down.Of(a[i], b[i]), down.Of(c[i], d[i])); };
  const float off = across.Of(at(across.first), at(across.second));
  float& out = volume[(static_cast<int64_t>(z) * m.volume.y + y) * m.volume.x + x];
  if (scale.linear) {
    out -= off;
    return;
  }
  const float attenuation = At(scale.attenuation, out) - off * scale.per_hu;
  out = At(scale.hounsfield, fmaf(attenuation, scale.to_measured, -1000.f));
}

}  // namespace

absl::Status LaunchTakeOff(const ConeBeamMerging& merging, const ops::HounsfieldScale& scale,
                           const float* artefact, float* volume, cudaStream_t stream) {
  const Scale own{.linear = scale.table.points.empty(),
                  .attenuation = ops::AttenuationHinges(scale),
                  .hounsfield = ops::HingesOf(scale.table),
                  .per_hu = static_cast<float>(scale.mu_water_per_mm / 1000),
                  .to_measured = static_cast<float>(1000 / scale.mu_water_per_mm)};
  TakeOffKernel<<<VoxelBlocks(merging.volume), kVoxelThreads, 0, stream>>>(merging, own, artefact,
                                                                           volume);
  return ToStatus(cudaGetLastError(), "TakeOffKernel");
}

}  // namespace isocenter::cuda
