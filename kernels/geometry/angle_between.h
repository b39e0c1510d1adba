// The angle between two directions.
#pragma once

#include <cmath>

#include "kernels/geometry/vec3.h"

namespace isocenter {

/// Radians, 0 to π; neither is zero, nor need they be of one length. Exact for small angles, too.
inline double AngleBetween(Vec3 a, Vec3 b) { return std::atan2(Norm(Cross(a, b)), Dot(a, b)); }

}  // namespace isocenter
