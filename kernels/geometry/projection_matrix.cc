#include "kernels/geometry/projection_matrix.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter {
namespace {

constexpr double kLeastReciprocalCondition = 1e-12;
constexpr double kLeastDepthMm = 1e-3;

// Row r of the left 3x3 part.
Vec3 LeftRow(const ProjectionMatrix& p, int r) { return {p(r, 0), p(r, 1), p(r, 2)}; }

double MaxAbs(Vec3 a) { return std::max({std::abs(a.x), std::abs(a.y), std::abs(a.z)}); }

// Unit vector without overflow or underflow of the squares; the zero vector stays zero.
Vec3 Unit(Vec3 a) {
  const double scale = MaxAbs(a);
  if (scale == 0) return a;
  const Vec3 b{a.x / scale, a.y / scale, a.z / scale};
  return (1 / Norm(b)) * b;
}

// 1 / (‖A‖·‖A⁻¹‖) in the Frobenius norm of the matrix A of three unit rows; 0 when singular.
double ReciprocalCondition(Vec3 a, Vec3 b, Vec3 c) {
  // The columns of A⁻¹ are these cross products over the determinant.
  const Vec3 bc = Cross(b, c), ca = Cross(c, a), ab = Cross(a, b);
  const double inverse = std::sqrt(Dot(bc, bc) + Dot(ca, ca) + Dot(ab, ab));
  if (inverse == 0) return 0;
  return std::abs(Dot(a, bc)) / (std::sqrt(3.0) * inverse);
}

// The part of `a` that is perpendicular to the unit vectors of `basis`. Twice, so that rounding of
// the first pass does not remain where little of `a` is left.
Vec3 Perpendicular(Vec3 a, std::initializer_list<Vec3> basis) {
  for (int pass = 0; pass < 2; ++pass) {
    for (Vec3 b : basis) a = a - Dot(a, b) * b;
  }
  return a;
}

}  // namespace

absl::StatusOr<ProjectionMatrix> NormalizeMatrix(const ProjectionMatrix& matrix) {
  for (int i = 0; i < 12; ++i) {
    if (!std::isfinite(matrix.m[i])) {
      return absl::InvalidArgumentError(absl::StrCat("projection matrix: element ", i, " (row ",
                                                     i / 4, ", column ", i % 4, ") is ",
                                                     matrix.m[i], "; legal is a finite number"));
    }
  }
  const double condition = ReciprocalCondition(Unit(LeftRow(matrix, 0)), Unit(LeftRow(matrix, 1)),
                                               Unit(LeftRow(matrix, 2)));
  if (!(condition >= kLeastReciprocalCondition)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "projection matrix: the left 3x3 part is singular (reciprocal condition ", condition,
        " after row scaling; legal is ", kLeastReciprocalCondition, " or more)"));
  }
  const double w = matrix(2, 3);
  if (!(w > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "projection matrix: the isocentre is not in front of the source (w is ", w,
        " there; legal is above 0", w < 0 ? ": the matrix times -1 has the same pixels" : "", ")"));
  }
  ProjectionMatrix normalized;
  for (int i = 0; i < 12; ++i) {
    normalized.m[i] = matrix.m[i] / w;
    if (!std::isfinite(normalized.m[i])) {
      return absl::InvalidArgumentError(absl::StrCat("projection matrix: element ", i,
                                                     " is not finite once w (", w,
                                                     ") is scaled to 1 at the isocentre"));
    }
  }
  const double depth = 1 / Norm(LeftRow(normalized, 2));
  if (!(depth >= kLeastDepthMm && std::isfinite(depth))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "projection matrix: the isocentre is ", depth,
        " mm in front of the source; legal is a finite depth from ", kLeastDepthMm, " mm"));
  }
  return normalized;
}

absl::StatusOr<Camera> Decompose(const ProjectionMatrix& matrix) {
  ISO_ASSIGN_OR_RETURN(const ProjectionMatrix p, NormalizeMatrix(matrix));
  Camera camera;
  const Vec3 depth_row = LeftRow(p, 2);
  // w grows by 1 per isocenter_depth_mm; times that, the matrix is K · [R | -R·source].
  const double scale = 1 / Norm(depth_row);
  camera.isocenter_depth_mm = scale;
  camera.depth_axis = scale * depth_row;
  const Vec3 u_row = scale * LeftRow(p, 0);
  const Vec3 v_row = scale * LeftRow(p, 1);

  const Vec3 v_part = Perpendicular(v_row, {camera.depth_axis});
  camera.focal_v_px = Norm(v_part);
  camera.v_axis = Unit(v_part);
  const Vec3 u_part = Perpendicular(u_row, {camera.depth_axis, camera.v_axis});
  camera.focal_u_px = Norm(u_part);
  camera.u_axis = Unit(u_part);
  if (Dot(Cross(camera.u_axis, camera.v_axis), camera.depth_axis) < 0) {
    camera.v_axis = -camera.v_axis;
    camera.focal_v_px = -camera.focal_v_px;
  }
  camera.skew_px = Dot(u_row, camera.v_axis);
  camera.principal_u_px = Dot(u_row, camera.depth_axis);
  camera.principal_v_px = Dot(v_row, camera.depth_axis);

  // The last column is -K·R·source: solve K·t = column, then source = -Rᵀ·t.
  const double t_depth = scale * p(2, 3);
  const double t_v = (scale * p(1, 3) - camera.principal_v_px * t_depth) / camera.focal_v_px;
  const double t_u = (scale * p(0, 3) - camera.skew_px * t_v - camera.principal_u_px * t_depth) /
                     camera.focal_u_px;
  camera.source = -(t_u * camera.u_axis + t_v * camera.v_axis + t_depth * camera.depth_axis);
  return camera;
}

ProjectionMatrix Compose(const Camera& camera) {
  const double depth = -Dot(camera.depth_axis, camera.source);
  const Vec3 u_row = camera.focal_u_px * camera.u_axis + camera.skew_px * camera.v_axis +
                     camera.principal_u_px * camera.depth_axis;
  const Vec3 v_row = camera.focal_v_px * camera.v_axis + camera.principal_v_px * camera.depth_axis;
  ProjectionMatrix p;
  const Vec3 rows[] = {u_row, v_row, camera.depth_axis};
  for (int r = 0; r < 3; ++r) {
    p.m[4 * r + 0] = rows[r].x / depth;
    p.m[4 * r + 1] = rows[r].y / depth;
    p.m[4 * r + 2] = rows[r].z / depth;
    p.m[4 * r + 3] = -Dot(rows[r], camera.source) / depth;
  }
  return p;
}

ProjectionMatrix ToVoxelIndices(const ProjectionMatrix& matrix, const VolumeGrid& grid) {
  const double spacing[] = {grid.spacing.x, grid.spacing.y, grid.spacing.z};
  ProjectionMatrix result;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (int k = 0; k < 3; ++k) sum += matrix(r, k) * grid.direction[3 * k + c];
      result.m[4 * r + c] = sum * spacing[c];
    }
    result.m[4 * r + 3] = Dot(LeftRow(matrix, r), grid.origin) + matrix(r, 3);
  }
  return result;
}

std::array<double, 9> InverseLeft(const ProjectionMatrix& matrix) {
  const Vec3 a = LeftRow(matrix, 0), b = LeftRow(matrix, 1), c = LeftRow(matrix, 2);
  const Vec3 bc = Cross(b, c), ca = Cross(c, a), ab = Cross(a, b);
  const double d = Dot(a, bc);
  return {bc.x / d, ca.x / d, ab.x / d,   //
          bc.y / d, ca.y / d, ab.y / d,   //
          bc.z / d, ca.z / d, ab.z / d};  //
}

}  // namespace isocenter
