// Which of the voxels that look like metal the rays through them say are metal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/hounsfield.h"

namespace isocenter::recon {

/// A streak between two pieces of metal is as bright as metal, but rays that cross it elsewhere
/// lack nothing. A voxel is metal if what interpolation took off the rays through it is at least
/// what half of the voxel would attenuate, but for this share of the views.
inline constexpr double kMostViewsWithoutMetal = 0.1;
/// Views that are asked, evenly spread: enough to tell.
inline constexpr int kViewsAsked = 120;
/// From one of them to the next.
constexpr int AskedViewStride(int views) { return (views + kViewsAsked - 1) / kViewsAsked; }

class MetalEvidence {
 public:
  /// `metal`: as FindMetal makes it, [z][y][x] of `grid`.
  MetalEvidence(const VolumeGrid& grid, const ops::HounsfieldScale& scale,
                HostView3<const float> metal);
  /// Host memory for so many voxels of metal.
  static int64_t Bytes(int64_t voxels);

  /// What interpolation over the metal's trace took off a view's line integrals, [v][u].
  void Add(const ProjectionMatrix& matrix, HostView3<const float> removed);
  /// Voxels that are no metal become 0. Returns the number of those that are left.
  int64_t Prune(HostView3<float> metal) const;

 private:
  struct Voxel {
    int64_t index = 0;
    float least = 0;  // what a ray must lack
    int seen = 0, missed = 0;
  };

  const VolumeGrid grid_;
  std::vector<Voxel> voxels_;
};

}  // namespace isocenter::recon
