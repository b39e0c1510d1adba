// Where the X-ray source of a projection matrix is.
#pragma once

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/vec3.h"

namespace isocenter {

/// World, mm: what the matrix projects nowhere. The left 3x3 part is not singular.
Vec3 SourceOf(const ProjectionMatrix& matrix);

}  // namespace isocenter
