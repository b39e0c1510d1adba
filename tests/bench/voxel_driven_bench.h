// Voxel-driven forward projection in the case of Du et al., "GPU accelerated voxel-driven forward
// projection for iterative reconstruction of cone-beam CT", BioMed. Eng. OnLine 16 (2017) 2: what
// each of the paper's steps brings, and what the backend's own method does.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace isocenter::bench {

struct VoxelDrivenOptions {
  std::string backend = "cuda";
  std::vector<int> slices = {45, 512};  // of 512 x 512 voxels; the paper has 45
  std::vector<int> subvoxels = {1, 8};
  int views = 360;  // around the circle
  int repeats = 3;
  std::vector<double> ratios = {0.8};  // source to axis, of source to detector
  std::string json;                    // file to write; empty: none
  std::string out;                     // directory of tables and pictures; empty: none
};

/// Errors: those of the backend, UNAVAILABLE (a file that cannot be written).
absl::Status RunVoxelDriven(const VoxelDrivenOptions& options);

}  // namespace isocenter::bench
