// 3x4 projection matrices: what every C-arm calibration delivers.
#pragma once

#include <array>

#include "absl/status/statusor.h"
#include "kernels/geometry/vec3.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter {

/// A homogeneous detector position: u = uw / w in columns, v = vw / w in rows; integers are pixel
/// centres.
struct Projected {
  double uw = 0, vw = 0, w = 0;
  double u() const { return uw / w; }
  double v() const { return vw / w; }
};

/// (u·w, v·w, w) = P · (x, y, z, 1), world millimetres to detector pixels, row-major.
struct ProjectionMatrix {
  std::array<double, 12> m{};

  double operator()(int row, int column) const { return m[row * 4 + column]; }
  Projected Project(Vec3 p) const {
    return {m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3],
            m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
            m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]};
  }
  friend bool operator==(const ProjectionMatrix&, const ProjectionMatrix&) = default;
};

/// What a matrix says of the system. P = K · [R | -R·source] with R's rows u_axis, v_axis,
/// depth_axis and K = ((focal_u, skew, principal_u), (0, focal_v, principal_v), (0, 0, 1)), up to
/// scale.
struct Camera {
  Vec3 source;            // mm, world
  Vec3 u_axis, v_axis;    // unit vectors in the detector; u_axis × v_axis = depth_axis always
  Vec3 depth_axis;        // unit normal of the detector, from the source towards it
  double focal_u_px = 0;  // source-detector distance in column pitches, positive
  double focal_v_px = 0;  // in row pitches; negative for a mirrored detector: rows against v_axis
  double skew_px = 0;
  double principal_u_px = 0, principal_v_px = 0;
  double isocenter_depth_mm = 0;  // distance of the isocentre from the source along depth_axis
};

/// Scales a matrix to w = 1 at the isocentre. Errors: INVALID_ARGUMENT for values that are not
/// finite, a left 3x3 part that is singular (reciprocal condition below 1e-12 after row scaling),
/// or an isocentre at or behind the source: w must be positive there, and its depth 1e-3 mm at
/// least. (A homogeneous matrix of the other sign maps alike; who reads a format whose sign is free
/// turns it first.)
absl::StatusOr<ProjectionMatrix> NormalizeMatrix(const ProjectionMatrix& matrix);

/// Decomposes a matrix of any positive scale (RQ). Errors: INVALID_ARGUMENT as NormalizeMatrix.
absl::StatusOr<Camera> Decompose(const ProjectionMatrix& matrix);

/// The inverse of Decompose; the result is normalised. The isocentre must be in front of the
/// source. Its depth follows from `source` and `depth_axis`; camera.isocenter_depth_mm is not read.
ProjectionMatrix Compose(const Camera& camera);

/// The same mapping with voxel indices (i, j, k) of `grid` in place of world millimetres: P · A
/// with A the grid's index-to-world transform. Back-projectors need nothing else of a grid.
ProjectionMatrix ToVoxelIndices(const ProjectionMatrix& matrix, const VolumeGrid& grid);

/// The inverse of the left 3x3 part, row-major: column vectors (u, v, 1) to ray directions of depth
/// w = 1. The matrix must be normalised.
std::array<double, 9> InverseLeft(const ProjectionMatrix& matrix);

}  // namespace isocenter
