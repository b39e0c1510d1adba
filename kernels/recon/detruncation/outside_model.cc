#include "kernels/recon/detruncation/outside_model.h"

#include <algorithm>
#include <cmath>

namespace isocenter::recon {
namespace {

constexpr float kAirHu = -1000, kMostAirHu = -750;
constexpr float kTissueHu = 30, kLeastTissueHu = -300, kMostTissueHu = 300;
constexpr float kDenseBoneHu = 1500;
constexpr float kNearer = 0.3F;  // of the way

/// `change` of each voxel's value and its distance from the axis.
template <typename Change>
void ForEach(const VolumeGrid& grid, ThreadPool& threads, HostView3<float> volume, Change change) {
  threads.ParallelFor(grid.nz, [&](int64_t z, int) {
    float* voxel = volume.slices(z, 1).data();
    for (int y = 0; y < grid.ny; ++y) {
      for (int x = 0; x < grid.nx; ++x, ++voxel) {
        const Vec3 at = grid.VoxelToWorld(x, y, static_cast<double>(z));
        *voxel = change(*voxel, std::hypot(at.x, at.y));
      }
    }
  });
}

}  // namespace

void LeanToTissue(const VolumeGrid& grid, double known_radius_mm, ThreadPool& threads,
                  HostView3<float> volume) {
  ForEach(grid, threads, volume, [&](float hu, double radius) {
    if (radius >= known_radius_mm && hu < kMostAirHu) return hu + kNearer * (kAirHu - hu);
    const bool tissue = hu > kLeastTissueHu && hu < kMostTissueHu;
    return tissue ? hu + kNearer * (kTissueHu - hu) : hu;
  });
}

void Bound(const VolumeGrid& grid, double radius_mm, ThreadPool& threads, HostView3<float> volume) {
  ForEach(grid, threads, volume, [&](float hu, double radius) {
    return radius > radius_mm ? kAirHu : std::clamp(hu, kAirHu, kDenseBoneHu);
  });
}

}  // namespace isocenter::recon
