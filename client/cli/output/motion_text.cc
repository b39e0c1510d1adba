#include "client/cli/output/motion_text.h"

#include "absl/strings/str_format.h"
#include "kernels/base/units.h"
#include "kernels/geometry/rigid_motion.h"

namespace isocenter::cli {

std::string MotionSummary(const recon::FoundMotion& motion) {
  const std::string entropies = absl::StrFormat("the entropy of its values is %.3f, before %.3f",
                                                motion.entropy_after, motion.entropy_before);
  if (!motion.moved) {
    return absl::StrFormat(
        "motion: none found that makes the volume clearly sharper (%s, legal is %.2f less); it is "
        "as it was",
        entropies, recon::kLeastEntropyGain);
  }
  const MotionExtent extent = ExtentOf(motion.poses);
  return absl::StrFormat("motion: up to %.1f mm and %.1f deg from the mean pose are taken out; %s",
                         extent.shift_mm, RadiansToDegrees(extent.turn_rad), entropies);
}

nlohmann::ordered_json MotionJson(const recon::FoundMotion& motion) {
  const MotionExtent extent = ExtentOf(motion.poses);
  nlohmann::ordered_json json{{"found", motion.moved},
                              {"entropy_before", motion.entropy_before},
                              {"entropy_after", motion.entropy_after},
                              {"largest_shift_mm", extent.shift_mm},
                              {"largest_turn_deg", RadiansToDegrees(extent.turn_rad)}};
  if (!motion.moved) return json;
  for (const RigidPose& pose : motion.poses) {
    const Vec3 shift = pose.shift_mm, turn = pose.turn_rad;
    json["poses"].push_back(
        {{"shift_mm", {shift.x, shift.y, shift.z}},
         {"turn_deg",
          {RadiansToDegrees(turn.x), RadiansToDegrees(turn.y), RadiansToDegrees(turn.z)}}});
  }
  return json;
}

}  // namespace isocenter::cli
