// What isocenter says of a motion that was found in a scan's frames.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kernels/recon/motion/find_motion.h"

namespace isocenter::cli {

/// One line: how far the object went from its mean pose, or that no motion was found.
std::string MotionSummary(const recon::FoundMotion& motion);

/// "motion" of docs/formats/json.md: millimetres and degrees, each frame's pose where it moved.
nlohmann::ordered_json MotionJson(const recon::FoundMotion& motion);

}  // namespace isocenter::cli
