// Whether the pixels of a frame are those that were announced.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/geometry/detector.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// `bytes`: of the pixels that came for `frame`. Errors: INVALID_ARGUMENT naming frame, bytes and
/// what is legal, and the width of the pixels that they would be where they are exactly the
/// detector's pixels of another width.
absl::Status CheckFrameBytes(uint32_t frame, int64_t bytes, const Detector& detector,
                             PixelType type);

}  // namespace isocenter::recon
