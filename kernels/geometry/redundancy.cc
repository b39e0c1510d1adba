#include "kernels/geometry/redundancy.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/displaced_detector.h"
#include "kernels/geometry/limited_arc.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/geometry/scan_arc.h"

namespace isocenter {
namespace {

double SineSquared(double x) { return std::sin(x) * std::sin(x); }

// Fan angles of one view on the row that images the isocentre: the angle from the direction to the
// axis to the ray, both seen along z, positive in the direction of rotation.
class Fan {
 public:
  Fan(const ProjectionMatrix& p, int direction)
      : inverse_(InverseLeft(p)),
        row_(p(1, 3) / p(2, 3)),
        // The isocentre lies in the direction M⁻¹·(its homogeneous image) from the source.
        center_(DirectionOf(p(0, 3), p(1, 3), p(2, 3))),
        direction_(direction) {}

  double AngleOf(int column) const {
    const Vec3 ray = DirectionOf(column, row_, 1);
    return direction_ * std::atan2(Cross(center_, ray).z, Dot(center_, ray));
  }
  FanEdges Edges(int columns) const {
    return {AngleOf(0), AngleOf(std::min(1, columns - 1)), AngleOf(std::max(0, columns - 2)),
            AngleOf(columns - 1)};
  }

 private:
  Vec3 DirectionOf(double uw, double vw, double w) const {
    return {inverse_[0] * uw + inverse_[1] * vw + inverse_[2] * w,
            inverse_[3] * uw + inverse_[4] * vw + inverse_[5] * w, 0};
  }

  std::array<double, 9> inverse_;
  double row_;
  Vec3 center_;
  int direction_;
};

// Beyond the axis a displaced detector must reach so far that its weights change slowly: with 8
// columns the error of a head grows from 2.4 to 4.5 HU, with 4 to 16, with 2 to 22.
constexpr double kFewestColumnsBeyondAxis = 8;

// On a short scan nothing brings what the narrow side lacks. Within the field of view of that side
// a patient who fits into it is exact; one who does not is wrong by 0.7 HU where a tenth of the
// columns is missing, by 12 where it is a fifth and by 70 where it is a third.
constexpr double kLargestMissingShare = 0.1;

/// `axis`: the column at which the narrowest view shows the axis; far from the middle it tells of
/// matrices of other pixels.
absl::Status CheckDisplacement(const FanSides& sides, double axis, int columns, bool full_scan) {
  const double missing = MissingColumns(sides), bearable = kLargestMissingShare * columns;
  const double beyond = sides.narrow / sides.column;
  if (full_scan && IsDisplaced(sides) && !(beyond >= kFewestColumnsBeyondAxis)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the detector is displaced so far that in view %d its narrow side reaches %.1f columns "
        "beyond the axis, which is at column %.1f of 0 to %d: %.1f are missing; legal is %.0f or "
        "more",
        sides.narrowest_view, beyond, axis, columns - 1, kFewestColumnsBeyondAxis - beyond,
        kFewestColumnsBeyondAxis));
  }
  if (!full_scan && !(missing <= bearable)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the detector is displaced: %.1f of its %d columns are missing on its narrow side (view "
        "%d, which has the axis at column %.1f of 0 to %d); legal on a short scan is up to %.1f, a "
        "tenth, and more on a full turn",
        missing, columns, sides.narrowest_view, axis, columns - 1, bearable));
  }
  return absl::OkStatus();
}

// By how much one side of the detector is narrower than the other, seen from the axis.
void CountLackingColumns(const Trajectory& trajectory, int columns, bool before,
                         RedundancyOutline& outline) {
  constexpr double kRounding = 1e-6;  // columns
  double lacking = 0;
  for (const ProjectionMatrix& p : trajectory) {
    const double axis = p(0, 3) / p(2, 3);
    const double more_after = columns - 1 - 2 * axis;
    lacking = std::max(lacking, before ? more_after : -more_after);
  }
  (before ? outline.columns_lacking_before : outline.columns_lacking_after) =
      static_cast<int>(std::ceil(lacking - kRounding));
}

// Parker's weights for an arc of π + 2·margin (Parker 1982; with a margin wider than half the fan:
// Silver 2000). A ray (beta, fan) is measured again from beta + π + 2·fan under -fan.
double ShortScanWeight(double beta, double fan, double arc) {
  const double margin = 0.5 * (arc - kPi);
  if (beta < 2 * (margin - fan)) {
    return SineSquared(0.25 * kPi * beta / (margin - fan));
  }
  if (beta > kPi - 2 * fan) {
    return SineSquared(0.25 * kPi * (arc - beta) / (margin + fan));
  }
  return 1;
}

// One half on a circle. On a longer arc the whole turns in it share alike, and what is beyond them
// is faded in and out so that the weights of all sources at one angle still add up to one half.
double FullScanWeight(double beta, double arc) {
  const double turns = std::max(1.0, std::floor(arc / (2 * kPi)));
  const double overlap = arc - 2 * kPi * turns;
  double share = 1;
  if (beta < overlap) share = SineSquared(0.5 * kPi * beta / overlap);
  if (beta > arc - overlap) share *= SineSquared(0.5 * kPi * (arc - beta) / overlap);
  return 0.5 * share / turns;
}

// The outermost rays of a detector may be measured once on a part of the arc only: the share of
// half the fan that must be complete. C-arms are built to stop just there.
constexpr double kCompleteShareOfFan = 0.9;

double LeastArc(double fan_angle) { return kPi + kCompleteShareOfFan * fan_angle; }

// Rows are filtered; where they do not follow the orbit, filtered back-projection is wrong.
constexpr double kLargestRowAngle = 30 * kPi / 180;

absl::Status CheckRowAngle(const Trajectory& upright) {
  ISO_ASSIGN_OR_RETURN(const double angle, LargestRowAngle(upright, {0, 0, 1}));
  if (angle <= kLargestRowAngle) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("the trajectory's detector rows are turned by up to %.1f deg against the "
                      "plane of the orbit; legal is up to "
                      "%.0f deg (exchange rows and columns of the frames where they stand upright)",
                      RadiansToDegrees(angle), RadiansToDegrees(kLargestRowAngle)));
}

// Of sources that leave the plane the weights know nothing, and the more they do the more is wrong:
// in the middle of a head by up to 1 HU where it is 2.6 % of their distance, 5 HU at 5 %, 10 HU at
// 17 % and 32 HU at 34 % (drifts and sines). Arms that were measured leave it by 0.15 %.
constexpr double kMostOffPlane = 0.03;

absl::Status CheckPlane(const Trajectory& upright) {
  double lowest = 0, highest = 0, distance = 0;
  for (size_t view = 0; view < upright.size(); ++view) {
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(upright[view]));
    const double height = camera.source.z;
    lowest = view == 0 ? height : std::min(lowest, height);
    highest = view == 0 ? height : std::max(highest, height);
    distance += Norm(camera.source) / static_cast<double>(upright.size());
  }
  const double off = 0.5 * (highest - lowest), most = kMostOffPlane * distance;
  if (off <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "the trajectory's sources leave the plane of the orbit by up to %.1f mm; legal for filtered "
      "back-projection, whose weights are those of a circle, is up to %.1f mm (%.0f %% of their "
      "distance; iterations that begin with zero take any orbit)",
      off, most, 100 * kMostOffPlane));
}

// Whether the arc is long enough for the weights that were chosen, and not too long.
absl::Status CheckArc(const Arc& arc, const RedundancyOutline& outline, bool covers_circle) {
  if (outline.full_scan && !covers_circle) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the trajectory's arc is %.3f deg; a full scan needs 360 deg less one step (%.3f deg)",
        RadiansToDegrees(arc.length - arc.mean_step), RadiansToDegrees(2 * kPi - arc.mean_step)));
  }
  if (outline.full_scan) return absl::OkStatus();
  const double needed = LeastArc(outline.fan_angle);
  if (!(arc.length >= needed)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the trajectory's arc is %.3f deg with half a step beyond both ends; a short scan needs "
        "%.3f deg (180 plus %.0f %% of the fan angle of %.3f deg)",
        RadiansToDegrees(arc.length), RadiansToDegrees(needed), 100 * kCompleteShareOfFan,
        RadiansToDegrees(outline.fan_angle)));
  }
  if (arc.length > 2 * kPi) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the trajectory's arc is %.3f deg; legal for short-scan weights is up to 360 (use the "
        "full-scan weights)",
        RadiansToDegrees(arc.length)));
  }
  return absl::OkStatus();
}

// The way of the sources and how far the rays of each reach.
struct Orbit {
  Trajectory upright;  // turned so that the axis is z
  Arc arc;
  std::vector<FanEdges> edges;
  double fan_angle = 0;
};

absl::StatusOr<Orbit> MeasureOrbit(const Trajectory& planned, int columns) {
  if (columns < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("detector.columns is ", columns, "; legal is 1 or more"));
  }
  Orbit orbit;
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(planned));
  orbit.upright = TurnedToAxis(planned, axis);
  ISO_RETURN_IF_ERROR(CheckRowAngle(orbit.upright));
  ISO_RETURN_IF_ERROR(CheckPlane(orbit.upright));
  ISO_ASSIGN_OR_RETURN(orbit.arc, MeasureArc(orbit.upright));
  if (IsClosed(orbit.arc)) Close(orbit.arc);
  double half_fan = 0;
  for (const ProjectionMatrix& p : orbit.upright) {
    orbit.edges.push_back(Fan(p, orbit.arc.direction).Edges(columns));
    half_fan =
        std::max({half_fan, std::abs(orbit.edges.back().first), std::abs(orbit.edges.back().last)});
  }
  orbit.fan_angle = 2 * half_fan;
  return orbit;
}

// All that is measured before there are weights.
struct Measured {
  Orbit orbit;
  FanSides sides;
  RedundancyOutline outline;
};

absl::StatusOr<Measured> Measure(const Trajectory& planned, const Detector& detector,
                                 RedundancyWeighting weighting) {
  const int columns = detector.columns;
  Measured measured;
  ISO_ASSIGN_OR_RETURN(measured.orbit, MeasureOrbit(planned, columns));
  const Arc& arc = measured.orbit.arc;
  RedundancyOutline& outline = measured.outline;
  outline.arc = arc.length;
  outline.fan_angle = measured.orbit.fan_angle;
  outline.full_scan = weighting == RedundancyWeighting::kFullScan ||
                      (weighting == RedundancyWeighting::kAuto && GoesAround(arc));
  ISO_RETURN_IF_ERROR(CheckArc(arc, outline, GoesAround(arc)));

  const std::vector<FanEdges>& edges = measured.orbit.edges;
  measured.sides = MeasureFanSides(edges);
  const ProjectionMatrix& narrowest = measured.orbit.upright[measured.sides.narrowest_view];
  ISO_RETURN_IF_ERROR(CheckDisplacement(measured.sides, narrowest(0, 3) / narrowest(2, 3), columns,
                                        outline.full_scan));
  if (outline.full_scan && IsDisplaced(measured.sides)) {
    const bool rising = edges[0].last > edges[0].first;
    const bool before = rising == (measured.sides.wide_sign > 0);
    CountLackingColumns(measured.orbit.upright, columns, before, outline);
  }
  return measured;
}

}  // namespace

absl::StatusOr<RedundancyOutline> OutlineRedundancy(const Trajectory& trajectory,
                                                    const Detector& detector,
                                                    RedundancyWeighting weighting) {
  ISO_ASSIGN_OR_RETURN(const Measured measured, Measure(trajectory, detector, weighting));
  return measured.outline;
}

absl::StatusOr<RedundancyTable> ComputeRedundancy(const Trajectory& trajectory,
                                                  const Detector& detector,
                                                  RedundancyWeighting weighting) {
  ISO_ASSIGN_OR_RETURN(const Measured measured, Measure(trajectory, detector, weighting));
  const Arc& arc = measured.orbit.arc;
  const int views = static_cast<int>(trajectory.size()), columns = detector.columns;
  RedundancyTable table{
      .outline = measured.outline, .views = views, .columns = columns, .angular_step = arc.step};
  table.weight.reserve(static_cast<size_t>(views) * columns);
  for (int view = 0; view < views; ++view) {
    const Fan fan(measured.orbit.upright[view], arc.direction);
    const double beta = arc.beta[view];
    for (int u = 0; u < columns; ++u) {
      const double angle = fan.AngleOf(u);
      table.weight.push_back(measured.outline.full_scan ? FullScanWeight(beta, arc.length) *
                                                              DisplacedWeight(angle, measured.sides)
                                                        : ShortScanWeight(beta, angle, arc.length));
    }
  }
  return table;
}

absl::StatusOr<std::vector<double>> ShortScanWeightsSeen(const Trajectory& trajectory,
                                                         const Trajectory& seen, int columns) {
  if (seen.size() != trajectory.size() || seen.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat("an object saw ", seen.size(), " of ",
                                                   trajectory.size(),
                                                   " views; legal is all, 2 or more"));
  }
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(trajectory));
  const Trajectory upright = TurnedToAxis(seen, axis);
  ISO_ASSIGN_OR_RETURN(const std::vector<double> angle, SourceAngles(upright));
  const double swept = angle.back() - angle.front();
  const int direction = swept < 0 ? -1 : 1;
  const double half_step = 0.5 * std::abs(swept) / static_cast<double>(seen.size() - 1);
  const double arc = std::abs(swept) + 2 * half_step;
  std::vector<double> weights;
  weights.reserve(seen.size() * columns);
  for (size_t view = 0; view < seen.size(); ++view) {
    const Fan fan(upright[view], direction);
    const double beta = std::clamp(direction * (angle[view] - angle.front()) + half_step, half_step,
                                   arc - half_step);
    for (int u = 0; u < columns; ++u) {
      weights.push_back(ShortScanWeight(beta, fan.AngleOf(u), arc));
    }
  }
  return weights;
}

std::optional<LimitedArc> FindLimitedArc(const Trajectory& trajectory, const Detector& detector) {
  const absl::StatusOr<Orbit> orbit = MeasureOrbit(trajectory, detector.columns);
  if (!orbit.ok() || GoesAround(orbit->arc)) return std::nullopt;
  const LimitedArc arc{.found = orbit->arc.length, .needed = LeastArc(orbit->fan_angle)};
  if (arc.found >= arc.needed) return std::nullopt;
  return arc;
}

std::string LimitedArcText(const LimitedArc& arc) {
  return absl::StrFormat(
      "the arc is limited: %.1f degrees, of %.1f that filtered back-projection needs. The "
      "iteration "
      "begins with nothing, and surfaces that no ray runs along stay blurred or are missing",
      RadiansToDegrees(arc.found), RadiansToDegrees(arc.needed));
}

bool CoversCircle(const Trajectory& trajectory) {
  const absl::StatusOr<Vec3> axis = OrbitAxis(trajectory);
  if (!axis.ok()) return false;
  const absl::StatusOr<Arc> arc = MeasureArc(TurnedToAxis(trajectory, *axis));
  return arc.ok() && GoesAround(*arc);
}

}  // namespace isocenter
