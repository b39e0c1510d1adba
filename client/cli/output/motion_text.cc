#include "client/cli/output/motion_text.h"

#include <span>

#include "kernels/base/units.h"
#include "kernels/geometry/rigid_motion.h"

namespace isocenter::cli {

namespace {

nlohmann::ordered_json PosesJson(std::span<const RigidPose> poses) {
  auto json = nlohmann::ordered_json::array();
  for (const RigidPose& pose : poses) {
    const Vec3 shift = pose.shift_mm, turn = pose.turn_rad;
    json.push_back(
        {{"shift_mm", {shift.x, shift.y, shift.z}},
         {"turn_deg",
          {RadiansToDegrees(turn.x), RadiansToDegrees(turn.y), RadiansToDegrees(turn.z)}}});
  }
  return json;
}

}  // namespace

nlohmann::ordered_json MotionJson(const recon::FoundMotion& motion) {
  const MotionExtent extent = ExtentOf(motion.poses);
  nlohmann::ordered_json json{{"found", motion.moved},
                              {"entropy_before", motion.entropy_before},
                              {"entropy_after", motion.entropy_after},
                              {"largest_shift_mm", extent.shift_mm},
                              {"largest_turn_deg", RadiansToDegrees(extent.turn_rad)}};
  if (motion.moved) json["poses"] = PosesJson(motion.poses);
  return json;
}

nlohmann::ordered_json MotionJson(const v1::ObjectMotion& motion) {
  nlohmann::ordered_json json{{"found", motion.found()},
                              {"entropy_before", motion.entropy_before()},
                              {"entropy_after", motion.entropy_after()},
                              {"largest_shift_mm", motion.largest_shift_mm()},
                              {"largest_turn_deg", motion.largest_turn_deg()}};
  if (motion.pose_size() > 0) json["poses"] = PosesJson(PosesOf(motion));
  return json;
}

std::vector<RigidPose> PosesOf(const v1::ObjectMotion& motion) {
  std::vector<RigidPose> poses;
  for (const v1::ObjectPose& pose : motion.pose()) {
    const Vec3 turn_deg{pose.turn_x_deg(), pose.turn_y_deg(), pose.turn_z_deg()};
    poses.push_back({.turn_rad = DegreesToRadians(1) * turn_deg,
                     .shift_mm = {pose.shift_x_mm(), pose.shift_y_mm(), pose.shift_z_mm()}});
  }
  return poses;
}

}  // namespace isocenter::cli
