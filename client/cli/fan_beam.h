// Fan-beam scans on disk to a volume on disk, for `isocenter reconstruct`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/output/json_output.h"
#include "kernels/ops/device.h"
#include "kernels/recon/fan_beam.h"

namespace isocenter::cli {

struct FanBeamCommand {
  std::string input, out;
  int size = 256;         // pixels per axis over the field of view, where there is no grid
  std::vector<int> grid;  // pixels, pixels, slices; empty: by `size`
  double voxel_mm = 0;    // of `grid`, in the plane
  recon::FanBeamSettings settings;
  JsonOutput json;
};

/// Errors: those of reading, of the recipe and of writing; INVALID_ARGUMENT (a grid of another
/// number of slices).
absl::Status ReconstructFanBeamScan(const FanBeamCommand& command, ops::Device& device);

}  // namespace isocenter::cli
