// How the object of `isocenter simulate` moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/rigid_motion.h"

namespace isocenter::cli {

struct MotionChoice {
  std::string kind;  // "smooth", "jolt", "periodic" or the name of a table; empty: it lies still
  double shift_mm = 4;
  double turn_deg = 3;
  uint64_t seed = 1;
  std::string poses;               // file to write; empty: none
  std::optional<int> truth_frame;  // none: the truth is the object at rest

  bool moves() const { return !kind.empty(); }
};

/// One for each frame. Errors: those of ReadMotionFile; INVALID_ARGUMENT (--poses or --truth-frame
/// without a motion, a frame that there is not).
absl::StatusOr<std::vector<RigidPose>> MotionPoses(const MotionChoice& choice, int frames);

}  // namespace isocenter::cli
