#include "kernels/phantom/body.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace isocenter::phantom {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where a·t² + 2·b·t + c <= 0, a >= 0.
Interval Quadric(double a, double b, double c) {
  if (a == 0) return c <= 0 ? Interval{-kInfinity, kInfinity} : Interval{};
  const double discriminant = b * b - a * c;
  if (!(discriminant > 0)) return {};
  // The root that does not cancel; the other one from their product.
  const double q = -(b + std::copysign(std::sqrt(discriminant), b));
  const double r = q / a, s = c / q;
  return {std::min(r, s), std::max(r, s)};
}

// Where |position + t·slope| <= 1.
Interval Slab(double position, double slope) {
  if (slope == 0) return std::abs(position) <= 1 ? Interval{-kInfinity, kInfinity} : Interval{};
  const double r = (-1 - position) / slope, s = (1 - position) / slope;
  return {std::min(r, s), std::max(r, s)};
}

Interval Common(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

Body::Body(Shape shape, Vec3 center, Vec3 half_axes, double turn, double tilt)
    : shape_(shape), center_(center) {
  const double cz = std::cos(turn), sz = std::sin(turn);
  const double cy = std::cos(tilt), sy = std::sin(tilt);
  // Columns of Rz(turn)·Ry(tilt), each over its half-axis.
  rows_[0] = (1 / half_axes.x) * Vec3{cz * cy, sz * cy, -sy};
  rows_[1] = (1 / half_axes.y) * Vec3{-sz, cz, 0};
  rows_[2] = (1 / half_axes.z) * Vec3{cz * sy, sz * sy, cy};
  constexpr double kRoomMm2 = 1e-6;  // squares of up to 10^8 mm² are subtracted in Intersect
  const double x2 = half_axes.x * half_axes.x, y2 = half_axes.y * half_axes.y,
               z2 = half_axes.z * half_axes.z;
  switch (shape) {
    case Shape::kEllipsoid:
      bound_ = std::max({x2, y2, z2});
      break;
    case Shape::kCylinder:
      bound_ = std::max(x2, y2) + z2;
      break;
    case Shape::kBox:
      bound_ = x2 + y2 + z2;
      break;
  }
  bound_ += kRoomMm2;
}

Vec3 Body::HalfExtent() const {
  const auto along = [this](double Vec3::*axis) {
    double part[3];  // of the half-axes, each of which is row / |row|²
    for (int a = 0; a < 3; ++a) part[a] = std::abs(rows_[a].*axis) / Dot(rows_[a], rows_[a]);
    switch (shape_) {
      case Shape::kEllipsoid:
        return std::hypot(part[0], part[1], part[2]);
      case Shape::kCylinder:
        return std::hypot(part[0], part[1]) + part[2];
      case Shape::kBox:
        return part[0] + part[1] + part[2];
    }
    return 0.0;
  };
  return {along(&Vec3::x), along(&Vec3::y), along(&Vec3::z)};
}

bool Body::Contains(Vec3 point) const {
  const Vec3 offset = point - center_;
  if (Dot(offset, offset) > bound_) return false;
  const Vec3 p = ToUnit(offset);
  switch (shape_) {
    case Shape::kEllipsoid:
      return Dot(p, p) <= 1;
    case Shape::kCylinder:
      return p.x * p.x + p.y * p.y <= 1 && std::abs(p.z) <= 1;
    case Shape::kBox:
      return std::abs(p.x) <= 1 && std::abs(p.y) <= 1 && std::abs(p.z) <= 1;
  }
  return false;
}

Interval Body::Intersect(Vec3 origin, Vec3 direction) const {
  const Vec3 offset = origin - center_;
  const double along = Dot(offset, direction);
  if (Dot(offset, offset) - along * along > bound_) return {};
  const Vec3 o = ToUnit(offset), d = ToUnit(direction);
  Interval inside;
  switch (shape_) {
    case Shape::kEllipsoid:
      inside = Quadric(Dot(d, d), Dot(o, d), Dot(o, o) - 1);
      break;
    case Shape::kCylinder:
      inside =
          Common(Quadric(d.x * d.x + d.y * d.y, o.x * d.x + o.y * d.y, o.x * o.x + o.y * o.y - 1),
                 Slab(o.z, d.z));
      break;
    case Shape::kBox:
      inside = Common(Slab(o.x, d.x), Common(Slab(o.y, d.y), Slab(o.z, d.z)));
      break;
  }
  inside.begin = std::max(inside.begin, 0.0);
  return inside;
}

}  // namespace isocenter::phantom
