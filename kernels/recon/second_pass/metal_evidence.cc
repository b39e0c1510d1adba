#include "kernels/recon/second_pass/metal_evidence.h"

#include <algorithm>
#include <cmath>

namespace isocenter::recon {

MetalEvidence::MetalEvidence(const VolumeGrid& grid, const ops::HounsfieldScale& scale,
                             HostView3<const float> metal)
    : grid_(grid) {
  const double half = std::min({grid.spacing.x, grid.spacing.y, grid.spacing.z}) / 2;
  const std::span<const float> hu = metal.span();
  const auto count = hu.size() - static_cast<size_t>(std::ranges::count(hu, 0.f));
  voxels_.reserve(count);
  for (size_t i = 0; i < hu.size(); ++i) {
    if (hu[i] == 0) continue;
    voxels_.push_back({.index = static_cast<int64_t>(i),
                       .least = static_cast<float>(half * ops::AttenuationOf(scale, hu[i]))});
  }
}

int64_t MetalEvidence::Bytes(int64_t voxels) {
  return voxels * static_cast<int64_t>(sizeof(Voxel));
}

void MetalEvidence::Add(const ProjectionMatrix& matrix, HostView3<const float> removed) {
  const int64_t rows = removed.shape().middle, columns = removed.shape().fast;
  for (Voxel& voxel : voxels_) {
    const Vec3 at =
        grid_.VoxelToWorld(static_cast<double>(voxel.index % grid_.nx),
                           static_cast<double>(voxel.index / grid_.nx % grid_.ny),
                           static_cast<double>(voxel.index / (int64_t{grid_.nx} * grid_.ny)));
    const Projected place = matrix.Project(at);
    if (!(place.w > 0)) continue;
    const auto u = static_cast<int64_t>(std::lround(place.u()));
    const auto v = static_cast<int64_t>(std::lround(place.v()));
    if (u < 0 || v < 0 || u >= columns || v >= rows) continue;
    ++voxel.seen;
    if (!(removed(0, v, u) >= voxel.least)) ++voxel.missed;
  }
}

int64_t MetalEvidence::Prune(HostView3<float> metal) const {
  const std::span<float> hu = metal.span();
  int64_t left = 0;
  for (const Voxel& voxel : voxels_) {
    if (voxel.missed > kMostViewsWithoutMetal * voxel.seen) {
      hu[voxel.index] = 0;
    } else {
      ++left;
    }
  }
  return left;
}

}  // namespace isocenter::recon
