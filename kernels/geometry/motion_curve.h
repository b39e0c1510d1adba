// Six parameters over the time of a scan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/geometry/rigid_motion.h"

namespace isocenter {

struct MotionKnot {
  double share = 0;  // of the scan: 0 is the first frame, 1 the last
  RigidPose pose;
};

inline constexpr int kMostMotionKnots = 10000;
inline constexpr double kMostShiftMm = 100, kMostTurnDeg = 90;

/// A pose for every moment of a scan: between knots each of the six parameters follows a monotone
/// cubic (Steffen, Astron. Astrophys. 239 (1990) 443), with a continuous derivative and never
/// beyond its knots; before the first and after the last knot it stays.
class MotionCurve {
 public:
  /// Errors: INVALID_ARGUMENT with the knot: fewer than 1 or more than kMostMotionKnots, shares
  /// outside of 0 to 1 or not ascending, values that are not finite, shifts longer than
  /// kMostShiftMm, turns beyond kMostTurnDeg.
  static absl::StatusOr<MotionCurve> Make(std::vector<MotionKnot> knots);

  RigidPose At(double share) const;
  /// Of each of so many frames, evenly spaced in time.
  std::vector<RigidPose> AtFrames(int frames) const;

 private:
  explicit MotionCurve(std::vector<MotionKnot> knots);

  std::vector<MotionKnot> knots_;
  std::vector<RigidPose> slopes_;  // by share
};

/// The table of docs/formats/motion.md: seven numbers on each line, the share, x, y and z of the
/// shift in mm and of the turn in degrees, separated by commas or blanks; '#' begins a comment.
/// Errors: INVALID_ARGUMENT with the line; those of MotionCurve::Make.
absl::StatusOr<MotionCurve> ParseMotion(absl::string_view text);

/// The same from a file of 4 MiB at most; `flag` names it in errors. Errors: those of
/// ReadRegularFile and ParseMotion.
absl::StatusOr<MotionCurve> ReadMotionFile(absl::string_view flag, const std::string& path);

/// What ParseMotion reads: a knot for each of the evenly spaced frames, whose poses come back to
/// 1e-9 mm and degrees.
std::string MotionText(std::span<const RigidPose> poses);

}  // namespace isocenter
