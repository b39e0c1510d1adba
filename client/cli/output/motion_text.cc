#include "client/cli/output/motion_text.h"

#include <span>

#include "kernels/base/units.h"
#include "kernels/geometry/rigid_motion.h"

namespace isocenter::cli {

namespace {

struct Figures {
  bool found = false;
  double entropy_before = 0, entropy_after = 0;
  double shift_mm = 0, turn_deg = 0;  // the largest
};

nlohmann::ordered_json Json(const Figures& figures, std::span<const RigidPose> poses) {
  nlohmann::ordered_json json{{"found", figures.found},
                              {"entropy_before", figures.entropy_before},
                              {"entropy_after", figures.entropy_after},
                              {"largest_shift_mm", figures.shift_mm},
                              {"largest_turn_deg", figures.turn_deg}};
  for (const RigidPose& pose : poses) {
    const Vec3 shift = pose.shift_mm, turn = pose.turn_rad;
    json["poses"].push_back(
        {{"shift_mm", {shift.x, shift.y, shift.z}},
         {"turn_deg",
          {RadiansToDegrees(turn.x), RadiansToDegrees(turn.y), RadiansToDegrees(turn.z)}}});
  }
  return json;
}

}  // namespace

nlohmann::ordered_json MotionJson(const recon::FoundMotion& motion) {
  const MotionExtent extent = ExtentOf(motion.poses);
  nlohmann::ordered_json json =
      Json({.found = motion.moved,
            .entropy_before = motion.entropy_before,
            .entropy_after = motion.entropy_after,
            .shift_mm = extent.shift_mm,
            .turn_deg = RadiansToDegrees(extent.turn_rad)},
           motion.moved ? std::span(motion.poses) : std::span<const RigidPose>());
  if (motion.moved) {
    json["planes_before"] = motion.planes_before;
    json["planes_after"] = motion.planes_after;
    json["planes_not_used"] = motion.planes_not_used;
  }
  return json;
}

nlohmann::ordered_json MotionJson(const v1::ObjectMotion& motion) {
  return Json({.found = motion.found(),
               .entropy_before = motion.entropy_before(),
               .entropy_after = motion.entropy_after(),
               .shift_mm = motion.largest_shift_mm(),
               .turn_deg = motion.largest_turn_deg()},
              PosesOf(motion));
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
