// Executes the plan of a reconstruction that completes rows which the detector cuts.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/detruncation/detruncation_plan.h"
#include "kernels/recon/iterative/refinement.h"

namespace isocenter::recon {

/// As Refinement::Create. It begins with the first volume, which Start must be given, and has no
/// iterations to report. It may be read after the last step only: FAILED_PRECONDITION before.
///
/// Where at least kLeastCutEnds of the rows' ends lie inside of the object, a coarse model of twice
/// the field of view's radius is made: filtered back-projection of rows that go on as
/// ops::Truncation::kCylinder, then kModelPasses of OS-SART over the rows as they are, between
/// which voxels lean to air and soft tissue (LeanToTissue). Rows go on as its projections, and are
/// reconstructed. Else the first volume stays, bit for bit.
absl::StatusOr<std::unique_ptr<Refinement>> NewDetruncation(const DetruncationPlan& plan,
                                                            const ops::Registry& registry,
                                                            std::span<ops::Device* const> devices);

/// The whole of an acquisition at once: frames [view][v][u] in host memory to HU [z][y][x], by way
/// of the first volume. `doses`: empty, or one for each frame. `findings`, if it is given:
/// Refinement::findings.
absl::Status ReconstructDetruncated(const DetruncationPlan& plan, const ops::Registry& registry,
                                    std::span<ops::Device* const> devices,
                                    const ops::RawFrames& frames, HostView3<float> volume,
                                    std::span<const float> doses = {},
                                    std::vector<std::string>* findings = nullptr);

inline constexpr double kLeastCutEnds = 0.01;

}  // namespace isocenter::recon
