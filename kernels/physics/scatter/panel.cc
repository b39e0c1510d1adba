#include "kernels/physics/scatter/panel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/base/status_macros.h"
#include "kernels/phantom/pixel_rays.h"

namespace isocenter::physics {
namespace {
constexpr int kParts = 200;  // of the midpoint rule for the solid angle, along both edges
}  // namespace

double Panel::Intensity(double v) const {
  if (row_intensity_.empty()) return 1;
  const auto rows = static_cast<int64_t>(row_intensity_.size());
  return row_intensity_[std::clamp<int64_t>(static_cast<int64_t>(v * static_cast<double>(rows)), 0,
                                            rows - 1)];
}

absl::StatusOr<Panel> Panel::Make(const ProjectionMatrix& matrix, const Detector& detector,
                                  std::span<const double> row_intensity) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
  const phantom::PixelRays rays(matrix);
  const double distance = camera.focal_u_px * detector.pitch_u_mm;
  const auto at = [&](double u, double v) {
    const Vec3 ray = rays.Direction(u, v);
    return rays.source() + (distance / Dot(ray, camera.depth_axis)) * ray;
  };
  Panel panel;
  panel.source_ = rays.source();
  panel.normal_ = camera.depth_axis;
  panel.corner_ = at(-0.5, -0.5);
  panel.width_ = at(detector.columns - 0.5, -0.5) - panel.corner_;
  panel.height_ = at(-0.5, detector.rows - 0.5) - panel.corner_;
  panel.row_intensity_ = row_intensity;
  panel.most_ = 1 / (distance * distance);
  if (!row_intensity.empty()) {
    panel.most_ *= *std::max_element(row_intensity.begin(), row_intensity.end());
  }
  const double area = Norm(Cross(panel.width_, panel.height_)) / (kParts * kParts);
  for (int i = 0; i < kParts; ++i) {
    for (int j = 0; j < kParts; ++j) {
      const double u = (i + 0.5) / kParts, v = (j + 0.5) / kParts;
      panel.solid_angle_ +=
          area * panel.Intensity(v) * panel.SolidAngle(panel.Point(u, v), panel.source_);
    }
  }
  return panel;
}

Vec3 Panel::DrawDirection(phantom::Generator& draws) const {
  while (true) {
    const double u = draws.Uniform(), v = draws.Uniform();
    const Vec3 point = Point(u, v);
    if (most_ * draws.Uniform() >= Intensity(v) * SolidAngle(point, source_)) continue;
    const Vec3 way = point - source_;
    return (1 / Norm(way)) * way;
  }
}

}  // namespace isocenter::physics
