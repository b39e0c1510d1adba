// The detector of one view in the world.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::scatter {

/// Positions on the detector are shares of its width and height, from the outer edges of the first
/// column and row.
class Plane {
 public:
  /// Errors: those of Decompose.
  static absl::StatusOr<Plane> Of(const ProjectionMatrix& matrix, const Detector& detector);

  Vec3 source() const { return source_; }
  Vec3 Point(double u, double v) const { return corner_ + u * across_ + v * down_; }
  double area_mm2() const { return area_; }
  /// The solid angle (sr/mm²) that a small area at `point` has from a place in front of it; not
  /// positive behind.
  double Seen(Vec3 point, Vec3 from) const {
    const Vec3 way = point - from;
    const double square = Dot(way, way);
    return Dot(way, normal_) / (square * std::sqrt(square));
  }

 private:
  Plane() = default;
  Vec3 source_, corner_, across_, down_, normal_;
  double area_ = 0;
};

}  // namespace isocenter::scatter
