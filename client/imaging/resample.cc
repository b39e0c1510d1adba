#include "client/imaging/resample.h"

#include <algorithm>
#include <cmath>

namespace isocenter::imaging {
namespace {

/// Position along one axis between the voxels `low` and `low + 1`. False outside.
bool Locate(double index, int count, int& low, double& fraction) {
  constexpr double kSlack = 1e-3;
  if (!(index >= -kSlack && index <= count - 1 + kSlack)) return false;
  index = std::clamp(index, 0.0, count - 1.0);
  low = std::min(static_cast<int>(index), std::max(0, count - 2));
  fraction = index - low;
  return true;
}

}  // namespace

float TrilinearSampler::At(Vec3 world) const {
  const VolumeGrid& grid = volume_.grid;
  const Vec3 index = grid.WorldToVoxel(world);
  int i = 0, j = 0, k = 0;
  double a = 0, b = 0, c = 0;
  if (!Locate(index.x, grid.nx, i, a) || !Locate(index.y, grid.ny, j, b) ||
      !Locate(index.z, grid.nz, k, c)) {
    return outside_;
  }
  const HostView3<const float> voxels = volume_.view();
  const int i1 = std::min(i + 1, grid.nx - 1);
  const auto row = [&](int z, int y) {
    const float* values = voxels.row(z, y);
    return (1 - a) * values[i] + a * values[i1];
  };
  const auto slice = [&](int z) {
    return (1 - b) * row(z, j) + b * row(z, std::min(j + 1, grid.ny - 1));
  };
  return static_cast<float>((1 - c) * slice(k) + c * slice(std::min(k + 1, grid.nz - 1)));
}

formats::Volume Resample(const formats::Volume& volume, const VolumeGrid& grid, float outside) {
  if (volume.grid == grid) return volume;
  formats::Volume result{.grid = grid};
  result.voxels.reserve(grid.voxels());
  const TrilinearSampler sampler(volume, outside);
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        result.voxels.push_back(sampler.At(grid.VoxelToWorld(i, j, k)));
      }
    }
  }
  return result;
}

}  // namespace isocenter::imaging
