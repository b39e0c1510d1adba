#include "client/cli/options/simulate_motion.h"

#include "absl/strings/str_cat.h"
#include "client/flags/wrong_usage.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/motion_curve.h"
#include "kernels/phantom/planted_motion.h"

namespace isocenter::cli {
namespace {

absl::StatusOr<MotionCurve> CurveOf(const MotionChoice& choice) {
  const auto planted = [&choice](phantom::MotionKind kind) {
    return phantom::PlantedMotion(kind, choice.shift_mm, choice.turn_deg, choice.seed);
  };
  if (choice.kind == "smooth") return planted(phantom::MotionKind::kSmooth);
  if (choice.kind == "jolt") return planted(phantom::MotionKind::kJolt);
  if (choice.kind == "periodic") return planted(phantom::MotionKind::kPeriodic);
  return ReadMotionFile("--motion", choice.kind);
}

}  // namespace

absl::StatusOr<std::vector<RigidPose>> MotionPoses(const MotionChoice& choice, int frames) {
  if (!choice.moves()) {
    for (const auto& [flag, given] : {std::pair("--poses", !choice.poses.empty()),
                                      {"--truth-frame", choice.truth_frame.has_value()}}) {
      if (given) return flags::WrongUsage(absl::StrCat(flag, " needs --motion"));
    }
    return std::vector<RigidPose>(frames);
  }
  if (choice.truth_frame && *choice.truth_frame >= frames) {
    return absl::InvalidArgumentError(
        absl::StrCat("--truth-frame is ", *choice.truth_frame, "; legal is 0 to ", frames - 1));
  }
  ISO_ASSIGN_OR_RETURN(const MotionCurve curve, CurveOf(choice));
  return curve.AtFrames(frames);
}

}  // namespace isocenter::cli
