#include "client/imaging/difference.h"

#include <algorithm>

namespace isocenter::imaging {
namespace {

enum Region { kSlab, kSphere30, kSphere60, kWhole, kRegions };

bool Contains(int region, Vec3 p) {
  switch (region) {
    case kSlab:
      return std::abs(p.z) <= 10 && p.x * p.x + p.y * p.y <= 60.0 * 60.0;
    case kSphere30:
      return Dot(p, p) <= 30.0 * 30.0;
    case kSphere60:
      return Dot(p, p) <= 60.0 * 60.0;
    default:
      return true;
  }
}

/// Counted at points 2 mm apart or less, whatever the voxels are: which share of a region lies
/// between the outer faces of the grid's outermost voxels.
double ShareWithin(const VolumeGrid& grid, int region) {
  if (region == kWhole) return 1;
  constexpr double kReach = 60, kStep = 2;  // mm, of all regions
  int64_t points = 0, within = 0;
  for (double z = 0.5 * kStep - kReach; z < kReach; z += kStep) {
    for (double y = 0.5 * kStep - kReach; y < kReach; y += kStep) {
      for (double x = 0.5 * kStep - kReach; x < kReach; x += kStep) {
        const Vec3 point{x, y, z};
        if (!Contains(region, point)) continue;
        const Vec3 at = grid.WorldToVoxel(point);
        ++points;
        within += at.x >= -0.5 && at.y >= -0.5 && at.z >= -0.5 && at.x <= grid.nx - 0.5 &&
                  at.y <= grid.ny - 0.5 && at.z <= grid.nz - 0.5;
      }
    }
  }
  return static_cast<double>(within) / static_cast<double>(points);
}

}  // namespace

DifferenceMeter::DifferenceMeter(const VolumeGrid& grid) : grid_(grid), regions_(kRegions) {
  for (int r = 0; r < kRegions; ++r) regions_[r].of_grid = ShareWithin(grid, r);
  regions_[kSlab].name = "central slab";
  regions_[kSphere30].name = "sphere 30 mm";
  regions_[kSphere60].name = "sphere 60 mm";
  regions_[kWhole].name = "whole";
}

void DifferenceMeter::Add(int first_slice, HostView3<const float> slices,
                          HostView3<const float> truth) {
  const Shape3& shape = slices.shape();
  for (int64_t k = 0; k < shape.slow; ++k) {
    for (int64_t j = 0; j < shape.middle; ++j) {
      for (int64_t i = 0; i < shape.fast; ++i) {
        const double difference = slices(k, j, i) - double{truth(k, j, i)};
        const Vec3 position = grid_.VoxelToWorld(i, j, first_slice + k);
        for (int r = 0; r < kRegions; ++r) {
          if (!Contains(r, position)) continue;
          RegionDifference& region = regions_[r];
          ++region.inside;
          if (std::isnan(difference)) continue;  // without a truth
          ++region.voxels;
          region.sum += difference;
          region.sum_of_squares += difference * difference;
          region.largest = std::max(region.largest, std::abs(difference));
        }
      }
    }
  }
}

}  // namespace isocenter::imaging
