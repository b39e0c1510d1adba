// Volumes whose quality is known.
#pragma once

#include <functional>
#include <vector>

#include "kernels/quality/region.h"

namespace isocenter::quality {

struct MadeVolume {
  VolumeGrid grid;
  std::vector<float> voxels;

  MadeVolume(const VolumeGrid& on, const std::function<double(Vec3)>& value) : grid(on) {
    for (int k = 0; k < grid.nz; ++k) {
      for (int j = 0; j < grid.ny; ++j) {
        for (int i = 0; i < grid.nx; ++i) {
          voxels.push_back(static_cast<float>(value(grid.VoxelToWorld(i, j, k))));
        }
      }
    }
  }
  VolumeView view() const { return {grid, {voxels.data(), grid.shape()}}; }
};

}  // namespace isocenter::quality
