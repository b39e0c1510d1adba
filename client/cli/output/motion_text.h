// What isocenter says of a motion that was found in a scan's frames.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "isocenter/v1/jobs.pb.h"
#include "kernels/recon/motion/find_motion.h"

namespace isocenter::cli {

/// "motion" of docs/formats/json.md: millimetres and degrees, each frame's pose where it moved.
nlohmann::ordered_json MotionJson(const recon::FoundMotion& motion);
/// The same of a job.
nlohmann::ordered_json MotionJson(const v1::ObjectMotion& motion);

/// The pose of each frame, as it is told; none where no motion was found.
std::vector<RigidPose> PosesOf(const v1::ObjectMotion& motion);

}  // namespace isocenter::cli
