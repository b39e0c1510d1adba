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

}  // namespace

DifferenceMeter::DifferenceMeter() : regions_(kRegions) {
  regions_[kSlab].name = "central slab";
  regions_[kSphere30].name = "sphere 30 mm";
  regions_[kSphere60].name = "sphere 60 mm";
  regions_[kWhole].name = "whole";
}

void DifferenceMeter::Add(const VolumeGrid& grid, int first_slice, HostView3<const float> slices,
                          HostView3<const float> truth) {
  const Shape3& shape = slices.shape();
  for (int64_t k = 0; k < shape.slow; ++k) {
    for (int64_t j = 0; j < shape.middle; ++j) {
      for (int64_t i = 0; i < shape.fast; ++i) {
        const double expected = truth(k, j, i);
        if (std::isnan(expected)) continue;
        const double difference = slices(k, j, i) - expected;
        const Vec3 position = grid.VoxelToWorld(i, j, first_slice + k);
        for (int r = 0; r < kRegions; ++r) {
          if (!Contains(r, position)) continue;
          RegionDifference& region = regions_[r];
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
