// What a prior's dimensionless strength means.
#pragma once

#include "kernels/geometry/volume_grid.h"

namespace isocenter::recon {

/// The factors that make strengths mean the same for any number of voxels and views. With D the
/// weight of the data per volume, the rays of all views that cross a mm² (each times its weight),
/// and h the edge of a voxel: a quadratic (or Huber) penalty of differences gets strength · D · h ·
/// 10 mm³, because Σ (Δx)² of the same object grows with 1/h; total variation gets strength · D ·
/// h² · mm² · 0.02, because Σ |Δx| grows with 1/h², and an object as dense as water has 0.02/mm.
/// For a head of 2e4 photons per pixel 0.1 (250 views) to 1 (50 views) is best: more views leave
/// less noise to be explained.
struct PriorScale {
  double quadratic = 0;        // mm²
  double total_variation = 0;  // mm
};

/// `density` is D, 1/mm².
PriorScale ScaleOfPriors(const VolumeGrid& grid, double density);

}  // namespace isocenter::recon
