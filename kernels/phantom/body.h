// Convex bodies that phantoms are composed of.
#pragma once

#include "kernels/geometry/vec3.h"

namespace isocenter::phantom {

/// Part of a line inside a body, in millimetres along it from its origin; empty when end <= begin.
struct Interval {
  double begin = 0, end = 0;
};

/// An ellipsoid, an elliptic cylinder along its third axis, or a box: the unit sphere, the cylinder
/// of radius 1 and |z| <= 1, or the cube [-1, 1]³, scaled by three half-axes, turned and moved.
class Body {
 public:
  enum class Shape { kEllipsoid, kCylinder, kBox };

  /// Angles in radians: the half-axes' frame is turned by `tilt` about y, then by `turn` about z.
  Body(Shape shape, Vec3 center, Vec3 half_axes, double turn = 0, double tilt = 0);

  Vec3 center() const { return center_; }
  /// Half of the edges of the smallest box along the world's axes that holds the body.
  Vec3 HalfExtent() const;

  bool Contains(Vec3 point) const;
  /// The part of the half-line from `origin` in `direction` (unit vector) inside the body.
  Interval Intersect(Vec3 origin, Vec3 direction) const;

 private:
  Vec3 ToUnit(Vec3 v) const { return {Dot(rows_[0], v), Dot(rows_[1], v), Dot(rows_[2], v)}; }

  Shape shape_;
  Vec3 center_;
  Vec3 rows_[3];  // world vectors to the frame of the unit shape
  double bound_;  // square of the radius of a sphere around the body, with room for rounding
};

}  // namespace isocenter::phantom
