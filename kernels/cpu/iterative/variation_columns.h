// What the driver of the priors hands to its kernels (variation_columns-inl.h): pointers to columns
// of voxels along z. Where a neighbour is beyond the volume its column is the voxel's own, so that
// the difference is 0.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace isocenter::cpu {

/// Columns of f around the one at (x, y); an operation has those that it needs. `center` has a
/// valid element before its first and after its last; where all are set, so have left, right, down
/// and up.
struct Neighborhood {
  const float* center = nullptr;
  const float* left = nullptr;   // x - 1
  const float* right = nullptr;  // x + 1
  const float* down = nullptr;   // y - 1
  const float* up = nullptr;     // y + 1
  const float* left_up = nullptr;
  const float* right_down = nullptr;
};

struct PriorParameters {
  float gain[3];       // g_a
  float strength = 0;  // or the step
  float scale = 0;     // epsilon, delta or the bound
};

struct DualColumns {
  float *x, *y, *z;
};

/// Per index axis: p's component a at the voxels and one voxel before along a, with the weight that
/// each has in step · div p; that of one before is 0 where it is beyond the volume.
struct DivergenceColumns {
  const float* here[3];
  const float* before[3];
  float weight_here[3], weight_before[3];
};

}  // namespace isocenter::cpu
