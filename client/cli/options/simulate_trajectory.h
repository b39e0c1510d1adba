// The trajectories that `isocenter simulate` offers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::cli {

struct TrajectoryChoice {
  std::string kind = "carm";  // "circle", "carm", a SweepShape's name or the name of a .csv
  std::optional<int> frames;
  double start_deg = 0;
  std::optional<double> arc_deg;
  std::optional<double> sweep_deg;      // of a SweepShape; none: 10
  std::optional<double> sweep_periods;  // of "sine"; none: 2
  double sid_mm = 750;
  double sdd_mm = 1200;
  double wobble = 1.0;
  uint64_t seed = 1;
  std::vector<double> drift_mm{0, 0, 0};  // of the arm, at the last frame
  int binning = 1;
  double displacement_px = 0;  // of the detector along its rows
};

/// Errors: those of kernels/geometry/trajectory.h, in the words of the flags.
absl::StatusOr<Trajectory> MakeTrajectory(const TrajectoryChoice& choice, const Detector& detector);

/// Why an arc was hardly meant in degrees; nothing where it may be.
std::optional<std::string> ArcWarning(const TrajectoryChoice& choice);

/// What a displaced detector lacks on an arc that is no full turn; nothing where it lacks nothing.
std::optional<std::string> DisplacementWarning(const TrajectoryChoice& choice,
                                               const Trajectory& trajectory);

/// The table that ReadTrajectoryCsv reads, with digits enough for the same matrices.
std::string TrajectoryCsv(const Trajectory& trajectory);

}  // namespace isocenter::cli
