#include "kernels/geometry/source_position.h"

#include <array>

namespace isocenter {

Vec3 SourceOf(const ProjectionMatrix& matrix) {
  const std::array<double, 9> inverse = InverseLeft(matrix);
  const double a = matrix(0, 3), b = matrix(1, 3), c = matrix(2, 3);
  return {-(inverse[0] * a + inverse[1] * b + inverse[2] * c),
          -(inverse[3] * a + inverse[4] * b + inverse[5] * c),
          -(inverse[6] * a + inverse[7] * b + inverse[8] * c)};
}

}  // namespace isocenter
