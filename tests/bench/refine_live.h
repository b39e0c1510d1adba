// A refinement while its frames still come.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "kernels/base/views.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/iterative/plan.h"

namespace isocenter::bench {

/// Seconds from the last frame on.
struct AfterLastFrame {
  double fdk = 0;      // until the volume of filtered back-projection is in host memory
  double refined = 0;  // until the refined one is
};

/// Frames of the plan's acquisition come evenly in `arm_seconds`. Chunks of filtered
/// back-projection go first, as in a service; between them the refinement's early passes, or, where
/// it begins with that volume, nothing, and all of it after the last frame. Errors: the
/// reconstructions'.
absl::StatusOr<AfterLastFrame> RefineLive(const recon::RefinementPlan& plan, double arm_seconds,
                                          const ops::Registry& registry,
                                          std::span<ops::Device* const> devices,
                                          const ops::RawFrames& frames, HostView3<float> volume);

}  // namespace isocenter::bench
