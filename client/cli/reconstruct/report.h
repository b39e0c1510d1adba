// What `isocenter reconstruct` says of its result.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "client/cli/reconstruct/options.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/device.h"

namespace isocenter::cli {

/// What every document of --json has: what was read, on which grid, by what, and how long it took.
nlohmann::ordered_json ReportOf(const ReconstructOptions& options, int64_t frames,
                                const VolumeGrid& grid, const std::vector<ops::Device*>& devices,
                                double seconds);

}  // namespace isocenter::cli
