// The volume of an object that moved, as it lies at rest.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/recon/plan.h"

namespace isocenter::recon {

/// The plan for the same frames of an object that had these poses, one for each view: matrices are
/// those of the object at rest, and each view counts as much as the angle that it then stands for
/// (AngularSteps). Redundancy stays that of the arm: an object that turns by degrees moves the
/// borders between rays that are measured once and twice, which are wide. What filtered
/// back-projection cannot do for it, a source that the object sees leave the orbit's plane, it does
/// not do here: docs/motion.md has what is left. Errors: INVALID_ARGUMENT (another number of poses;
/// those of SeenAtRest and AngularSteps).
absl::StatusOr<ReconstructionPlan> WithMotion(ReconstructionPlan plan,
                                              std::span<const RigidPose> poses);

}  // namespace isocenter::recon
