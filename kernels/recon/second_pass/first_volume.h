// The volume that a second pass begins with.
#pragma once

#include "absl/status/status.h"
#include "kernels/base/views.h"

namespace isocenter::recon {

/// Copies voxels in HU to a volume of the same shape. Errors: INVALID_ARGUMENT (one that is not
/// finite).
absl::Status CopyFirstVolume(HostView3<const float> hounsfield, int threads,
                             HostView3<float> volume);

}  // namespace isocenter::recon
