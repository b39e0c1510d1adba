// The volume of an object that moved, as it lies at rest.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/recon/plan.h"

namespace isocenter::recon {

/// Weighs the rays of a short scan by the angles at which an object with these poses, one for each
/// view, saw them: with those of the arm lines at both ends of the arc count more or less than once
/// where the object turned. A full turn's weights stay as they are. Errors: INVALID_ARGUMENT
/// (another number of poses; those of SeenAtRest and ShortScanWeightsSeen).
absl::Status WeighAsSeen(std::span<const RigidPose> poses, ReconstructionPlan& plan);

/// The plan for the same frames of an object that had these poses: matrices are those of the object
/// at rest, rays are weighted as it saw them, and each view counts as much as the angle that it
/// then stands for (AngularSteps). What filtered back-projection cannot do for it, a source that
/// the object sees leave the orbit's plane, it does not do here: docs/motion.md has what is left.
/// Errors: those of WeighAsSeen and AngularSteps.
absl::StatusOr<ReconstructionPlan> WithMotion(ReconstructionPlan plan,
                                              std::span<const RigidPose> poses);

}  // namespace isocenter::recon
