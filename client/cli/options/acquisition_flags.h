// What is reconstructed from, and on which grid: the flags that stream and reconstruct share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/command.h"
#include "client/formats/frames.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cli {

struct AcquisitionFlags {
  std::string input;
  std::string projections;
  std::string matrices;
  std::optional<double> i0;
  std::vector<int> grid;
  double voxel_mm = 0;
};

/// The input, --projections, --matrices, --i0, --grid and --voxel-mm. Returns --grid.
flags::Option AddAcquisitionFlags(flags::Command command, AcquisitionFlags& flags);

/// Prints what was assumed, and warnings, to standard error. Errors: those of
/// formats::OpenAcquisition, ReadTrajectoryCsv and formats::WithMatrices.
absl::StatusOr<std::unique_ptr<formats::FrameSource>> OpenAcquisition(
    const AcquisitionFlags& flags);

/// The grid of --grid and --voxel-mm, centred at the isocentre, or nothing without them. Errors:
/// INVALID_ARGUMENT when only one of them is given.
absl::StatusOr<std::optional<VolumeGrid>> ChosenGrid(const AcquisitionFlags& flags);

}  // namespace isocenter::cli
