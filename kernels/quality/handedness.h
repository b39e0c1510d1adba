// Whether a volume shows a phantom or its mirror image.
#pragma once

#include "absl/status/status.h"
#include "kernels/geometry/phantom_tables/module_table.h"
#include "kernels/quality/placement.h"

namespace isocenter::quality {

/// Inserts in one plane look the same from the other side of a mirror that lies in their plane;
/// what is beside that plane, a sphere, or rises through it, a ramp's wire, does not.
/// INVALID_ARGUMENT for a volume that fits the phantom's mirror image there and not the phantom. OK
/// where the volume shows neither. `placement` is the one in which the inserts are what they should
/// be.
absl::Status CheckHandedness(const VolumeView& volume, const QualityPhantom& phantom,
                             const Placement& placement);

}  // namespace isocenter::quality
