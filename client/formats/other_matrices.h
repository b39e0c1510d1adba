// An acquisition with matrices that were measured afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::formats {

/// What `trajectory` and the acquisition's own matrices contradict each other in that no frame
/// shows (Misalignments): sentences. `name` is what the matrices were read from.
std::vector<std::string> OtherMatricesDoubts(const Trajectory& own, const Trajectory& trajectory,
                                             const std::string& name);

/// The frames of `source` with `trajectory`, which was read from `name`, in place of its own; with
/// the warnings that follow. Errors: INVALID_ARGUMENT (another number of frames).
absl::StatusOr<std::unique_ptr<FrameSource>> WithMatrices(std::unique_ptr<FrameSource> source,
                                                          const Trajectory& trajectory,
                                                          const std::string& name);

}  // namespace isocenter::formats
