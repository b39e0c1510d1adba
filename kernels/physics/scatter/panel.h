// The beam of one view: a source and the detector that it is collimated to.
#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/phantom/generator.h"

namespace isocenter::physics {

/// A point source that shines on the detector, all of its pixels and nothing else, with the same
/// intensity in all directions but for a heel. Positions on the detector are shares of its width
/// and height.
class Panel {
 public:
  /// `row_intensity`: photons towards each row over those towards the middle, positive; empty: 1.
  /// It must outlive the panel. Errors: those of Decompose.
  static absl::StatusOr<Panel> Make(const ProjectionMatrix& matrix, const Detector& detector,
                                    std::span<const double> row_intensity = {});

  Vec3 source() const { return source_; }
  Vec3 corner() const { return corner_; }
  Vec3 width() const { return width_; }
  Vec3 height() const { return height_; }
  Vec3 normal() const { return normal_; }  // away from the source
  std::span<const double> row_intensity() const { return row_intensity_; }
  /// The most of SolidAngle as seen from the source times intensity, and its integral.
  double most() const { return most_; }
  double solid_angle() const { return solid_angle_; }
  Vec3 Point(double u, double v) const { return corner_ + u * width_ + v * height_; }

  /// Solid angle of an area at the detector's `point` as seen from `from`, over that area (sr/mm²);
  /// not positive behind the detector.
  double SolidAngle(Vec3 point, Vec3 from) const {
    const Vec3 way = point - from;
    const double square = Dot(way, way);
    return Dot(way, normal_) / (square * std::sqrt(square));
  }

  /// Of the photons that leave the source, the share that falls on an area at the detector's
  /// `point` without an object, over that area (1/mm²), were all rows as bright as the middle.
  double OpenShare(Vec3 point) const { return SolidAngle(point, source_) / solid_angle_; }

  /// The unit vector of a photon that leaves the source.
  Vec3 DrawDirection(phantom::Generator& draws) const;

 private:
  Panel() = default;

  double Intensity(double v) const;

  Vec3 source_, corner_, width_, height_, normal_;
  std::span<const double> row_intensity_;
  double most_ = 0;         // of SolidAngle as seen from the source times intensity
  double solid_angle_ = 0;  // weighted by intensity
};

}  // namespace isocenter::physics
