#include "client/cli/options/simulate_trajectory.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/flags/wrong_usage.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/geometry/orbits/swept_orbit.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/geometry/trajectory_drift.h"
#include "proto/wire/arm_bounds.h"

namespace isocenter::cli {
namespace {

constexpr int kDefaultFrames = 248;
constexpr double kShortScanDeg = 200;
constexpr double kSweepDeg = 10, kSweepPeriods = 2;

/// `count` views spread evenly over `all`, the first and the last included.
absl::StatusOr<Trajectory> Thinned(const Trajectory& all, int count) {
  const int available = static_cast<int>(all.size());
  if (count < 2 || count > available) {
    return absl::InvalidArgumentError(absl::StrCat("--frames is ", count, "; legal is 2 to ",
                                                   available, " (the views of the file)"));
  }
  Trajectory thinned;
  for (int64_t i = 0; i < count; ++i) {
    thinned.push_back(all[(i * (available - 1) + (count - 1) / 2) / (count - 1)]);
  }
  return thinned;
}

std::optional<SweepShape> SweepNamed(const std::string& kind) {
  if (kind == "sine") return SweepShape::kSine;
  if (kind == "tilted") return SweepShape::kTilted;
  if (kind == "saddle") return SweepShape::kSaddle;
  if (kind == "two-arcs") return SweepShape::kTwoArcs;
  return std::nullopt;
}

/// What is said of a sweep must be of one.
absl::Status CheckSweep(const TrajectoryChoice& choice) {
  if (choice.sweep_deg && !SweepNamed(choice.kind)) {
    return flags::WrongUsage(absl::StrCat("--sweep-deg with --trajectory ", choice.kind,
                                          "; legal is sine, tilted, saddle or two-arcs"));
  }
  if (choice.sweep_periods && choice.kind != "sine") {
    return flags::WrongUsage(
        absl::StrCat("--sweep-periods with --trajectory ", choice.kind, "; legal is sine"));
  }
  return absl::OkStatus();
}

/// The unit that a distance was given in, where one makes it legal; else nothing.
const char* UnitMeant(double given, double least, double most) {
  const auto legal = [&](double mm) { return mm >= least && mm <= most; };
  if (legal(given * 10)) return ": was it given in cm?";
  if (legal(given * 1000)) return ": was it given in m?";
  return "";
}

/// A service takes no source that is nearer, nor a detector before the isocentre.
absl::Status CheckDistances(double sid_mm, double sdd_mm) {
  constexpr double kLeast = wire::kLeastSourceToIsocenterMm, kMost = wire::kMostSourceToIsocenterMm;
  if (sid_mm < kLeast || sid_mm > kMost) {
    return flags::WrongUsage(absl::StrCat("--sid-mm is ", sid_mm, "; legal is ", kLeast, " to ",
                                          kMost, " mm", UnitMeant(sid_mm, kLeast, kMost)));
  }
  const double farthest = wire::kMostMagnification * sid_mm;
  if (sdd_mm > sid_mm && sdd_mm <= farthest) return absl::OkStatus();
  return flags::WrongUsage(absl::StrCat("--sdd-mm is ", sdd_mm,
                                        "; legal is above --sid-mm, which is ", sid_mm, ", up to ",
                                        farthest, " mm", UnitMeant(sdd_mm, sid_mm, farthest)));
}

absl::StatusOr<Trajectory> CenteredTrajectory(const TrajectoryChoice& choice,
                                              const Detector& detector) {
  ISO_RETURN_IF_ERROR(CheckSweep(choice));
  if (absl::EndsWithIgnoreCase(choice.kind, ".csv")) {
    ISO_ASSIGN_OR_RETURN(Trajectory trajectory, ReadTrajectoryCsv(choice.kind));
    if (choice.binning > 1) trajectory = Binned(trajectory, choice.binning);
    return choice.frames ? Thinned(trajectory, *choice.frames) : trajectory;
  }
  ISO_RETURN_IF_ERROR(CheckDistances(choice.sid_mm, choice.sdd_mm));
  const int frames = choice.frames.value_or(kDefaultFrames);
  const bool circle = choice.kind == "circle";
  const std::optional<SweepShape> sweep = SweepNamed(choice.kind);
  const bool turns = circle || sweep == SweepShape::kSaddle;
  double arc_deg = choice.arc_deg.value_or(turns ? 360 : kShortScanDeg);
  // A closed circle must not measure its first angle twice.
  if (std::abs(arc_deg) == 360 && frames > 0 && sweep != SweepShape::kTwoArcs)
    arc_deg *= (frames - 1.0) / frames;
  const CircularOrbit orbit{.views = frames,
                            .source_to_isocenter_mm = choice.sid_mm,
                            .source_to_detector_mm = choice.sdd_mm,
                            .start_angle = DegreesToRadians(choice.start_deg),
                            .arc = DegreesToRadians(arc_deg)};
  if (circle) return MakeCircularOrbit(orbit, detector);
  if (sweep) {
    return MakeSweptOrbit({.base = orbit,
                           .shape = *sweep,
                           .sweep = DegreesToRadians(choice.sweep_deg.value_or(kSweepDeg)),
                           .periods = choice.sweep_periods.value_or(kSweepPeriods)},
                          detector);
  }
  if (choice.kind == "carm") return MakeWobblingOrbit(orbit, detector, choice.wobble, choice.seed);
  return flags::WrongUsage(
      absl::StrCat("--trajectory is '", choice.kind,
                   "'; legal is circle, carm, sine, tilted, saddle, two-arcs or a .csv file"));
}

/// The isocentre must stay on the detector, or no volume can be made of the scan.
absl::Status CheckDisplaced(const TrajectoryChoice& choice, const Trajectory& centered,
                            const Detector& detector) {
  double least = -detector.columns, most = detector.columns;
  for (const ProjectionMatrix& matrix : centered) {
    const double u = matrix.Project({0, 0, 0}).u();
    least = std::max(least, -u);
    most = std::min(most, detector.columns - 1 - u);
  }
  if (choice.displacement_px >= least && choice.displacement_px <= most) return absl::OkStatus();
  if (least > most) {
    return flags::WrongUsage(absl::StrFormat(
        "the trajectory sees the isocentre beside the detector of %d columns, with any "
        "--displace-px; legal are --detector and --binning that its matrices are for",
        detector.columns));
  }
  return flags::WrongUsage(absl::StrFormat(
      "--displace-px is %g; legal of these %d columns is %.1f to %.1f: beyond, the isocentre is "
      "beside the detector",
      choice.displacement_px, detector.columns, least, most));
}

}  // namespace

absl::StatusOr<Trajectory> MakeTrajectory(const TrajectoryChoice& choice,
                                          const Detector& detector) {
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, CenteredTrajectory(choice, detector));
  const std::vector<double>& drift = choice.drift_mm;
  ISO_ASSIGN_OR_RETURN(trajectory, Drifted(trajectory, {drift[0], drift[1], drift[2]}));
  if (choice.displacement_px != 0) {
    ISO_RETURN_IF_ERROR(CheckDisplaced(choice, trajectory, detector));
  }
  for (ProjectionMatrix& matrix : trajectory) {
    matrix = WithColumnsBefore(matrix, choice.displacement_px);
  }
  return trajectory;
}

std::optional<std::string> ArcWarning(const TrajectoryChoice& choice) {
  const double arc_deg = choice.arc_deg.value_or(kShortScanDeg);
  if (absl::EndsWithIgnoreCase(choice.kind, ".csv") || std::abs(arc_deg) > 2 * kPi) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "--arc-deg is %g, of which no volume can be made; usual is 180 to 360 degrees: was it given "
      "in radians? These are %.4g degrees",
      arc_deg, RadiansToDegrees(arc_deg));
}

std::optional<std::string> DisplacementWarning(const TrajectoryChoice& choice,
                                               const Trajectory& trajectory) {
  if (std::abs(choice.displacement_px) < 1 || CoversCircle(trajectory)) return std::nullopt;
  return absl::StrFormat(
      "--displace-px %g on less than a full turn: what one side of the detector does not see is "
      "measured by no view from opposite; a full turn is --trajectory circle",
      choice.displacement_px);
}

std::string TrajectoryCsv(const Trajectory& trajectory) {
  std::string csv = "# frame,p11,p12,p13,p14,p21,p22,p23,p24,p31,p32,p33,p34\n";
  for (size_t view = 0; view < trajectory.size(); ++view) {
    absl::StrAppend(&csv, view);
    for (const double element : trajectory[view].m) absl::StrAppendFormat(&csv, ",%.17g", element);
    csv += '\n';
  }
  return csv;
}

}  // namespace isocenter::cli
