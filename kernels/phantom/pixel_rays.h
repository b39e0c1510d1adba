// Where the rays of a view's pixels come from and go to.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/vec3.h"

namespace isocenter::phantom {

/// The rays of one view. `matrix` is normalised, of full rank.
class PixelRays {
 public:
  explicit PixelRays(const ProjectionMatrix& matrix)
      : inverse_(InverseLeft(matrix)),
        source_(-Transform(matrix(0, 3), matrix(1, 3), matrix(2, 3))) {}

  Vec3 source() const { return source_; }
  /// Unit vector from the source to the point (u, v) of the detector (pixels).
  Vec3 Direction(double u, double v) const {
    const Vec3 ray = Transform(u, v, 1);
    return (1 / Norm(ray)) * ray;
  }

 private:
  Vec3 Transform(double u, double v, double w) const {
    const std::array<double, 9>& m = inverse_;
    return {m[0] * u + m[1] * v + m[2] * w, m[3] * u + m[4] * v + m[5] * w,
            m[6] * u + m[7] * v + m[8] * w};
  }

  std::array<double, 9> inverse_;
  Vec3 source_;
};

/// Middles of `count` equal parts of [-1/2, 1/2].
inline std::vector<double> SubsampleOffsets(int count) {
  std::vector<double> offsets(std::max(1, count));
  const double n = static_cast<double>(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = (i + 0.5) / n - 0.5;
  return offsets;
}

}  // namespace isocenter::phantom
