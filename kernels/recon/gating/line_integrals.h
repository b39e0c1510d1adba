// All frames of a scan as line integrals in host memory, before some are chosen.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/line_converter.h"

namespace isocenter::recon {

/// [view][v][u], corrected as the acquisition's calibration says, by one device. `doses`: empty, or
/// one for each frame. Errors: INVALID_ARGUMENT (frames that are not the acquisition's),
/// RESOURCE_EXHAUSTED (of the host: what is needed), NOT_FOUND (a method that the backend lacks).
absl::StatusOr<std::vector<float>> LineIntegralsOf(const Acquisition& acquisition,
                                                   const ops::Registry& registry,
                                                   ops::Device& device,
                                                   const ops::RawFrames& frames,
                                                   std::span<const float> doses = {});

}  // namespace isocenter::recon
