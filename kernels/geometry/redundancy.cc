#include "kernels/geometry/redundancy.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/displaced_detector.h"
#include "kernels/geometry/orbit_axis.h"

namespace isocenter {
namespace {

double SineSquared(double x) { return std::sin(x) * std::sin(x); }

// Positions of the sources along the arc, in the direction of rotation.
struct Arc {
  std::vector<double> beta;  // [view], radians from half a step before the first source
  std::vector<double> step;  // [view], share of the arc
  double length = 0;  // from half a step before the first source to half a step after the last
  double mean_step = 0;
  int direction = 1;  // of the rotation around z
};

absl::StatusOr<Arc> MeasureArc(const Trajectory& trajectory) {
  const int views = static_cast<int>(trajectory.size());
  if (views < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trajectory has ", views, " views; legal is 2 or more"));
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<double> angle, SourceAngles(trajectory));
  const double swept = angle.back() - angle.front();
  Arc arc;
  arc.direction = swept < 0 ? -1 : 1;
  arc.mean_step = std::abs(swept) / (views - 1);
  arc.length = std::abs(swept) + arc.mean_step;
  for (int view = 0; view < views; ++view) {
    arc.beta.push_back(arc.direction * (angle[view] - angle[0]) + 0.5 * arc.mean_step);
    if (view > 0 && !(arc.beta[view] > arc.beta[view - 1])) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "trajectory, view %d: the source's angle goes from %.4f to %.4f deg against the "
          "direction of the arc (%+.4f deg in all); legal is a monotonic rotation",
          view, RadiansToDegrees(angle[view - 1]), RadiansToDegrees(angle[view]),
          RadiansToDegrees(swept)));
    }
  }
  // Each view stands for the arc up to the middle between it and its neighbours.
  for (int view = 0; view < views; ++view) {
    const double begin = view == 0 ? 0 : 0.5 * (arc.beta[view - 1] + arc.beta[view]);
    const double end = view == views - 1 ? arc.length : 0.5 * (arc.beta[view] + arc.beta[view + 1]);
    arc.step.push_back(end - begin);
  }
  return arc;
}

// Measured circles close to within half a step.
bool IsClosed(const Arc& arc) { return std::abs(arc.length - 2 * kPi) <= 0.5 * arc.mean_step; }

// The gap between the last and the first view counts as a step like any other.
void Close(Arc& arc) {
  const double gap = 2 * kPi - (arc.length - arc.mean_step);
  for (double& beta : arc.beta) beta += 0.5 * (gap - arc.mean_step);
  arc.step.front() += 0.5 * (gap - arc.mean_step);
  arc.step.back() += 0.5 * (gap - arc.mean_step);
  arc.length = 2 * kPi;
}

// Fan angles of the columns of one view, on the row that images the isocentre: the angle from the
// direction to the axis to the ray, both seen along z, positive in the direction of rotation.
std::vector<double> FanAngles(const ProjectionMatrix& p, int columns, int direction) {
  const std::array<double, 9> inverse = InverseLeft(p);
  const double v = p(1, 3) / p(2, 3);
  // The isocentre lies in the direction M⁻¹·(its homogeneous image) from the source.
  const auto direction_of = [&inverse](double uw, double vw, double w) {
    return Vec3{inverse[0] * uw + inverse[1] * vw + inverse[2] * w,
                inverse[3] * uw + inverse[4] * vw + inverse[5] * w, 0};
  };
  const Vec3 center = direction_of(p(0, 3), p(1, 3), p(2, 3));
  std::vector<double> fan(columns);
  for (int u = 0; u < columns; ++u) {
    const Vec3 ray = direction_of(u, v, 1);
    fan[u] = direction * std::atan2(Cross(center, ray).z, Dot(center, ray));
  }
  return fan;
}

// Beyond the axis a displaced detector must reach so far that its weights change slowly: with 8
// columns the error of a head grows from 2.4 to 4.5 HU, with 4 to 16, with 2 to 22.
constexpr double kFewestColumnsBeyondAxis = 8;

// On a short scan nothing brings what the narrow side lacks. Within the field of view of that side
// a patient who fits into it is exact; one who does not is wrong by 0.7 HU where a tenth of the
// columns is missing, by 12 where it is a fifth and by 70 where it is a third.
constexpr double kLargestMissingShare = 0.1;

absl::Status CheckDisplacement(const FanSides& sides, const RedundancyTable& table) {
  const double missing = MissingColumns(sides), bearable = kLargestMissingShare * table.columns;
  const double beyond = sides.narrow / sides.column;
  if (table.full_scan && IsDisplaced(sides) && !(beyond >= kFewestColumnsBeyondAxis)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the detector is displaced so far that in view %d its narrow side reaches %.1f columns "
        "beyond the axis: %.1f are missing; legal is %.0f or more",
        sides.narrowest_view, beyond, kFewestColumnsBeyondAxis - beyond, kFewestColumnsBeyondAxis));
  }
  if (!table.full_scan && !(missing <= bearable)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the detector is displaced: %.1f of its %d columns are missing on its narrow side (view "
        "%d); legal on a short scan is up to %.1f, a tenth, and more on a full turn",
        missing, table.columns, sides.narrowest_view, bearable));
  }
  return absl::OkStatus();
}

// By how much one side of the detector is narrower than the other, seen from the axis.
void CountLackingColumns(const Trajectory& trajectory, bool before, RedundancyTable& table) {
  constexpr double kRounding = 1e-6;  // columns
  double lacking = 0;
  for (const ProjectionMatrix& p : trajectory) {
    const double axis = p(0, 3) / p(2, 3);
    const double more_after = table.columns - 1 - 2 * axis;
    lacking = std::max(lacking, before ? more_after : -more_after);
  }
  (before ? table.columns_lacking_before : table.columns_lacking_after) =
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

// Whether the arc is long enough for the weights that were chosen, and not too long.
absl::Status CheckArc(const Arc& arc, const RedundancyTable& table, bool covers_circle) {
  if (table.full_scan && !covers_circle) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the trajectory's arc is %.3f deg; a full scan needs 360 deg less one step (%.3f deg)",
        RadiansToDegrees(arc.length - arc.mean_step), RadiansToDegrees(2 * kPi - arc.mean_step)));
  }
  if (table.full_scan) return absl::OkStatus();
  const double needed = kPi + kCompleteShareOfFan * table.fan_angle;
  if (!(arc.length >= needed)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the trajectory's arc is %.3f deg with half a step beyond both ends; a short scan needs "
        "%.3f deg (180 plus %.0f %% of the fan angle of %.3f deg)",
        RadiansToDegrees(arc.length), RadiansToDegrees(needed), 100 * kCompleteShareOfFan,
        RadiansToDegrees(table.fan_angle)));
  }
  if (arc.length > 2 * kPi) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the trajectory's arc is %.3f deg; legal for short-scan weights is up to 360 (use the "
        "full-scan weights)",
        RadiansToDegrees(arc.length)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RedundancyTable> ComputeRedundancy(const Trajectory& planned,
                                                  const Detector& detector,
                                                  RedundancyWeighting weighting) {
  if (detector.columns < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("detector.columns is ", detector.columns, "; legal is 1 or more"));
  }
  ISO_ASSIGN_OR_RETURN(const Vec3 axis, OrbitAxis(planned));
  const Trajectory trajectory = TurnedToAxis(planned, axis);
  ISO_RETURN_IF_ERROR(CheckRowAngle(trajectory));
  ISO_ASSIGN_OR_RETURN(Arc arc, MeasureArc(trajectory));
  const int views = static_cast<int>(trajectory.size());
  const int columns = detector.columns;

  const bool closed = IsClosed(arc);
  if (closed) Close(arc);

  RedundancyTable table{.views = views, .columns = columns};
  table.arc = arc.length;
  table.angular_step = arc.step;
  // First the fan angles, in the place where the weights will be.
  table.weight.reserve(static_cast<size_t>(views) * columns);
  double half_fan = 0;
  for (const ProjectionMatrix& p : trajectory) {
    for (double fan : FanAngles(p, columns, arc.direction)) {
      table.weight.push_back(fan);
      half_fan = std::max(half_fan, std::abs(fan));
    }
  }
  table.fan_angle = 2 * half_fan;
  const bool covers_circle = closed || arc.length > 2 * kPi;
  table.full_scan = weighting == RedundancyWeighting::kFullScan ||
                    (weighting == RedundancyWeighting::kAuto && covers_circle);

  ISO_RETURN_IF_ERROR(CheckArc(arc, table, covers_circle));
  const FanSides sides = MeasureFanSides(table.weight, columns);
  ISO_RETURN_IF_ERROR(CheckDisplacement(sides, table));
  if (table.full_scan && IsDisplaced(sides)) {
    const bool rising = table.weight[columns - 1] > table.weight[0];
    CountLackingColumns(trajectory, /*before=*/rising == (sides.wide_sign > 0), table);
  }
  for (int view = 0; view < views; ++view) {
    double* row = &table.weight[static_cast<size_t>(view) * columns];
    for (int u = 0; u < columns; ++u) {
      row[u] = table.full_scan
                   ? FullScanWeight(arc.beta[view], arc.length) * DisplacedWeight(row[u], sides)
                   : ShortScanWeight(arc.beta[view], row[u], arc.length);
    }
  }
  return table;
}

bool CoversCircle(const Trajectory& trajectory) {
  const absl::StatusOr<Vec3> axis = OrbitAxis(trajectory);
  if (!axis.ok()) return false;
  const absl::StatusOr<Arc> arc = MeasureArc(TurnedToAxis(trajectory, *axis));
  return arc.ok() && (IsClosed(*arc) || arc->length > 2 * kPi);
}

}  // namespace isocenter
