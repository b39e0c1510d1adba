// What a voxel adds to a view in all: the mass of its footprint.
#pragma once

#include <cmath>

#include "kernels/reference/rays.h"

namespace isocenter::reference {

/// c = V·|det M|·|x - s| / w³ in mm, of a piece of volume V mm³ with its centre at x.
class FootprintMass {
 public:
  explicit FootprintMass(const ProjectionMatrix& matrix) : inverse_(InvertLeft(matrix)) {
    source_ = SourceOf(matrix, inverse_);
  }
  double operator()(double volume_mm3, Vec3 centre, double w) const {
    return volume_mm3 * std::abs(inverse_.determinant) * Norm(centre - source_) / (w * w * w);
  }

 private:
  LeftInverse inverse_;
  Vec3 source_;
};

}  // namespace isocenter::reference
