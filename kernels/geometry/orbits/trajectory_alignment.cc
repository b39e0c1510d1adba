#include "kernels/geometry/orbits/trajectory_alignment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/median.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/rigid_motion.h"

namespace isocenter {
namespace {

// Determinant of the mean of the frames' turns: 1 where all are one turn, 0.8 where they spread
// evenly over 45 degrees to either side.
constexpr double kLeastDeterminant = 0.8;
// Of the path of a source (mm), as of a detector that turns and a source that stands still.
constexpr double kLeastPathMm = 10;

using Matrix3 = std::array<double, 9>;  // row-major

// Without the sign of a zero.
double Rounded(double value) { return std::round(100 * value) / 100 + 0.0; }

double Determinant(const Matrix3& a) {
  return Dot({a[0], a[1], a[2]}, Cross({a[3], a[4], a[5]}, {a[6], a[7], a[8]}));
}

// Transposed inverse: the rows' cross products over the determinant.
Matrix3 InverseTransposed(const Matrix3& a) {
  const Vec3 x{a[0], a[1], a[2]}, y{a[3], a[4], a[5]}, z{a[6], a[7], a[8]};
  const double scale = 1 / Determinant(a);
  const Vec3 rows[] = {scale * Cross(y, z), scale * Cross(z, x), scale * Cross(x, y)};
  return {rows[0].x, rows[0].y, rows[0].z, rows[1].x, rows[1].y,
          rows[1].z, rows[2].x, rows[2].y, rows[2].z};
}

// The rotation nearest to a matrix of positive determinant: Newton's iteration for the polar
// decomposition (Higham, SIAM J. Sci. Stat. Comput. 7, 1986), which converges quadratically.
Matrix3 NearestRotation(Matrix3 a) {
  for (int i = 0; i < 30; ++i) {
    const Matrix3 inverse = InverseTransposed(a);
    double change = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      const double next = (a[k] + inverse[k]) / 2;
      change = std::max(change, std::abs(next - a[k]));
      a[k] = next;
    }
    if (change < 1e-14) break;
  }
  return a;
}

// From the camera's axes in the one world to the same axes in the other, added up.
void AddTurn(const Camera& own, const Camera& other, double weight, Matrix3& sum) {
  for (const auto& [from, to] : {std::pair(own.u_axis, other.u_axis),
                                 {own.v_axis, other.v_axis},
                                 {own.depth_axis, other.depth_axis}}) {
    const double f[] = {from.x, from.y, from.z}, t[] = {to.x, to.y, to.z};
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column)
        sum[3 * row + column] += weight * t[row] * f[column];
    }
  }
}

// Root mean square distance from the middle.
double SizeOf(const std::vector<Camera>& cameras) {
  const double weight = 1.0 / static_cast<double>(cameras.size());
  Vec3 mean;
  for (const Camera& camera : cameras) mean = mean + weight * camera.source;
  double squares = 0;
  for (const Camera& camera : cameras) {
    const Vec3 d = camera.source - mean;
    squares += weight * Dot(d, d);
  }
  return std::sqrt(squares);
}

double FocalLength(const std::vector<Camera>& cameras) {
  std::vector<double> lengths;
  lengths.reserve(cameras.size());
  for (const Camera& camera : cameras) {
    lengths.push_back(std::sqrt(camera.focal_u_px * std::abs(camera.focal_v_px)));
  }
  return MedianOf(lengths);
}

absl::StatusOr<std::vector<Camera>> CamerasOf(const Trajectory& trajectory) {
  std::vector<Camera> cameras;
  for (const ProjectionMatrix& matrix : trajectory) {
    ISO_ASSIGN_OR_RETURN(cameras.emplace_back(), Decompose(matrix));
  }
  return cameras;
}

}  // namespace

absl::StatusOr<TrajectoryAlignment> Align(const Trajectory& own, const Trajectory& other) {
  if (own.empty() || own.size() != other.size()) {
    return absl::InvalidArgumentError(absl::StrCat(other.size(), " matrices against ", own.size(),
                                                   "; legal is one for each, and one at least"));
  }
  ISO_ASSIGN_OR_RETURN(const std::vector<Camera> own_cameras, CamerasOf(own));
  ISO_ASSIGN_OR_RETURN(const std::vector<Camera> other_cameras, CamerasOf(other));
  TrajectoryAlignment alignment;
  size_t mirrored = 0;
  Matrix3 turn{};
  for (size_t k = 0; k < own.size(); ++k) {
    mirrored += (own_cameras[k].focal_v_px < 0) != (other_cameras[k].focal_v_px < 0);
    AddTurn(own_cameras[k], other_cameras[k], 1.0 / static_cast<double>(own.size()), turn);
  }
  alignment.mirrored = 2 * mirrored > own.size();
  if (Determinant(turn) > kLeastDeterminant) {
    alignment.turn_rad = PoseOf({.rotation = NearestRotation(turn)}).turn_rad;
  }
  alignment.own_path_mm = SizeOf(own_cameras);
  alignment.path_mm = SizeOf(other_cameras);
  if (alignment.own_path_mm >= kLeastPathMm) {
    alignment.scale = alignment.path_mm / alignment.own_path_mm;
  }
  alignment.own_focal_px = FocalLength(own_cameras);
  alignment.focal_px = FocalLength(other_cameras);
  return alignment;
}

std::vector<std::string> Misalignments(const TrajectoryAlignment& alignment,
                                       const std::string& own) {
  std::vector<std::string> texts;
  // A mirror turns the cameras' axes as well, which says nothing more.
  if (alignment.mirrored) {
    texts.push_back(absl::StrCat("mirror what ", own,
                                 " do not, or the other way round: patients would come out with "
                                 "left and right exchanged"));
  } else if (!alignment.turn_rad) {
    texts.push_back(absl::StrCat("go another way than ", own,
                                 ": their frames have no turn in "
                                 "common"));
  } else if (const double deg = RadiansToDegrees(Norm(*alignment.turn_rad)); deg > kMostTurnDeg) {
    const Vec3 axis = (1 / Norm(*alignment.turn_rad)) * *alignment.turn_rad;
    texts.push_back(absl::StrFormat(
        "are turned by %.0f degrees about (%.2f, %.2f, %.2f) against %s; expected is at most %g: "
        "patients would come out turned as much",
        deg, Rounded(axis.x), Rounded(axis.y), Rounded(axis.z), own, kMostTurnDeg));
  }
  if (alignment.scale && 100 * std::abs(*alignment.scale - 1) > kMostPathPercent) {
    texts.push_back(absl::StrFormat(
        "have a source whose path is %.2f %% %s than by %s (%.1f and %.1f mm, root mean square "
        "around its middle); expected is within %g %%: all lengths are off by as much, and "
        "attenuation by its inverse",
        100 * std::abs(*alignment.scale - 1), *alignment.scale > 1 ? "longer" : "shorter", own,
        alignment.path_mm, alignment.own_path_mm, kMostPathPercent));
  }
  return texts;
}

std::optional<std::string> FocalMisfit(const TrajectoryAlignment& alignment,
                                       const std::string& own) {
  const double ratio = alignment.focal_px / alignment.own_focal_px;
  if (100 * std::abs(ratio - 1) <= kMostFocalPercent) return std::nullopt;
  return absl::StrFormat(
      "have a source that is %.2f %% %s the detector than by %s (%.1f and %.1f pixels, the middle "
      "one of all frames); expected is within %g %%: the object comes out as much %s, and its "
      "attenuation as much too %s",
      100 * std::abs(ratio - 1), ratio > 1 ? "further from" : "nearer to", own, alignment.focal_px,
      alignment.own_focal_px, kMostFocalPercent, ratio > 1 ? "smaller" : "larger",
      ratio > 1 ? "high" : "low");
}

}  // namespace isocenter
