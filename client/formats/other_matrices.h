// An acquisition with matrices that were measured afterwards.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::formats {

/// The frames of `source` with `trajectory` in place of its own. Errors: INVALID_ARGUMENT (another
/// number of frames).
absl::StatusOr<std::unique_ptr<FrameSource>> WithMatrices(std::unique_ptr<FrameSource> source,
                                                          const Trajectory& trajectory);

}  // namespace isocenter::formats
