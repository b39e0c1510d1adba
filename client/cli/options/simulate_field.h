// Whether what `isocenter simulate` scans fits between the source and the edges of the detector.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::cli {

/// Errors: INVALID_ARGUMENT with the first frame whose source is in the object, or has some of it
/// behind it, and how far the object reaches. `seen`: matrices of the object at rest.
absl::Status CheckSourcesOutside(const phantom::Phantom& object, const Trajectory& seen);

/// What of the object's width is beside the detector, at most, in mm at the isocentre; nothing
/// where each frame sees all of it. Of a detector that was displaced for a full turn only its wider
/// side counts: the other is seen from opposite. `seen`: as above.
std::optional<std::string> CutWidthWarning(const phantom::Phantom& object, const Trajectory& seen,
                                           const Detector& detector);

}  // namespace isocenter::cli
