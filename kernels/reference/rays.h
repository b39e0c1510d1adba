// The rays of a view in voxel indices, by way of the world.
#pragma once

#include <array>

#include "kernels/geometry/projection_matrix.h"

namespace isocenter::reference {

using Indices = std::array<double, 3>;  // of a point, or of a difference of points

/// One ray: source + w·direction for w > 0, both in voxel indices.
struct Ray {
  Indices source, direction;
  double millimetres = 0;  // the length of `direction` in the world
  double at(int axis, double w) const { return source[axis] + w * direction[axis]; }
};

/// The rays of all pixels of a view. The matrix must be normalised and of full rank.
class Rays {
 public:
  Rays(const ProjectionMatrix& matrix, const VolumeGrid& grid);
  Ray of(double u, double v) const;

 private:
  const VolumeGrid& grid_;
  Vec3 inverse_[3];  // the columns of M⁻¹
  Vec3 source_;      // world
};

/// Columns of the inverse of the matrix's left 3x3 part M, and its determinant.
struct LeftInverse {
  Vec3 column[3];
  double determinant = 0;
};
LeftInverse InvertLeft(const ProjectionMatrix& matrix);

/// Where the source of a view is in the world: -M⁻¹ p4.
Vec3 SourceOf(const ProjectionMatrix& matrix, const LeftInverse& inverse);

}  // namespace isocenter::reference
