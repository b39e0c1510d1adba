#include "kernels/reference/rays.h"

namespace isocenter::reference {

LeftInverse InvertLeft(const ProjectionMatrix& p) {
  const Vec3 a{p(0, 0), p(0, 1), p(0, 2)}, b{p(1, 0), p(1, 1), p(1, 2)},
      c{p(2, 0), p(2, 1), p(2, 2)};
  const double determinant = Dot(a, Cross(b, c));
  return {{(1 / determinant) * Cross(b, c), (1 / determinant) * Cross(c, a),
           (1 / determinant) * Cross(a, b)},
          determinant};
}

Vec3 SourceOf(const ProjectionMatrix& p, const LeftInverse& inverse) {
  return -(p(0, 3) * inverse.column[0] + p(1, 3) * inverse.column[1] + p(2, 3) * inverse.column[2]);
}

Rays::Rays(const ProjectionMatrix& matrix, const VolumeGrid& grid) : grid_(grid) {
  const LeftInverse inverse = InvertLeft(matrix);
  for (int i = 0; i < 3; ++i) inverse_[i] = inverse.column[i];
  source_ = SourceOf(matrix, inverse);
}

Ray Rays::of(double u, double v) const {
  const Vec3 direction = u * inverse_[0] + v * inverse_[1] + inverse_[2];
  const Vec3 source = grid_.WorldToVoxel(source_);
  // WorldToVoxel is affine: a direction is what it adds to the grid's origin.
  const Vec3 step = grid_.WorldToVoxel(grid_.origin + direction);
  return {{source.x, source.y, source.z}, {step.x, step.y, step.z}, Norm(direction)};
}

}  // namespace isocenter::reference
