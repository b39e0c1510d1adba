// Executes the plan of a reconstruction that completes rows which the detector cuts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/detruncation/detruncation_plan.h"

namespace isocenter::recon {

/// The whole of an acquisition at once: frames [view][v][u] in host memory to HU [z][y][x]. Where
/// at least kLeastCutEnds of the rows' ends lie inside of the object, a coarse model of twice the
/// field of view's radius is made: filtered back-projection of rows that go on as
/// ops::Truncation::kCylinder, then kModelPasses of OS-SART over the rows as they are, between
/// which voxels lean to air and soft tissue (LeanToTissue). Rows go on as its projections, and are
/// reconstructed. Else it is the first volume. `doses`: empty, or one for each frame. `findings`,
/// if it is given: what was done, for people. Errors: those of Reconstructor and Refinement.
absl::Status ReconstructDetruncated(const DetruncationPlan& plan, const ops::Registry& registry,
                                    std::span<ops::Device* const> devices,
                                    const ops::RawFrames& frames, HostView3<float> volume,
                                    std::span<const float> doses = {},
                                    std::vector<std::string>* findings = nullptr);

inline constexpr double kLeastCutEnds = 0.01;

}  // namespace isocenter::recon
