// Fan-beam scans on disk to a volume on disk, for `isocenter reconstruct`.
#pragma once

#include "absl/status/status.h"
#include "client/cli/reconstruct/options.h"
#include "kernels/ops/device.h"

namespace isocenter::cli {

/// `options` have passed CheckFanBeamFlags and have the filter in `fdk` (FdkOf). Errors: those of
/// reading, of the recipe and of writing; INVALID_ARGUMENT (a grid of another number of slices).
absl::Status ReconstructFanBeamScan(const ReconstructOptions& options, ops::Device& device);

}  // namespace isocenter::cli
