// Volumes on other grids.
#pragma once

#include "client/formats/volume.h"

namespace isocenter::imaging {

/// Trilinear between voxel centres; `outside` where a point lies beyond the outermost centres (by
/// more than a thousandth of a voxel).
class TrilinearSampler {
 public:
  TrilinearSampler(const formats::Volume& volume, float outside)
      : volume_(volume), outside_(outside) {}
  float At(Vec3 world) const;

 private:
  const formats::Volume& volume_;
  float outside_;
};

/// `volume` at the voxel centres of `grid`; a copy when the grids are equal.
formats::Volume Resample(const formats::Volume& volume, const VolumeGrid& grid, float outside);

}  // namespace isocenter::imaging
