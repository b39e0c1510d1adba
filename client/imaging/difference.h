// Differences of a volume to the truth, region by region.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::imaging {

/// Differences of the voxels whose centres lie in one region.
struct RegionDifference {
  std::string name;
  double of_grid = 1;  // share of the region that lies within the volume
  int64_t inside = 0;  // of the volume's voxels
  int64_t voxels = 0;  // of these, that have a truth
  double sum = 0, sum_of_squares = 0, largest = 0;  // HU, HU², HU

  /// Share of the region of which the figures tell; "whole" is the volume itself.
  double covered() const {
    return inside > 0 ? of_grid * static_cast<double>(voxels) / static_cast<double>(inside) : 0;
  }
  double bias() const { return voxels > 0 ? sum / voxels : 0; }
  double rmse() const { return voxels > 0 ? std::sqrt(sum_of_squares / voxels) : 0; }
};

/// Adds up `volume - truth` in the regions that all figures of this project are stated for:
/// "central slab" (|z| <= 10 mm, distance from the axis <= 60 mm), "sphere 30 mm" and "sphere 60
/// mm" (radius, around the isocentre), and "whole". Voxels whose truth is NaN are in no region.
class DifferenceMeter {
 public:
  /// `grid`: that of the volume.
  explicit DifferenceMeter(const VolumeGrid& grid);
  /// Voxels of `slices` are those from slice `first_slice`; `truth` has the same shape.
  void Add(int first_slice, HostView3<const float> slices, HostView3<const float> truth);
  const std::vector<RegionDifference>& regions() const { return regions_; }

 private:
  const VolumeGrid grid_;
  std::vector<RegionDifference> regions_;
};

}  // namespace isocenter::imaging
