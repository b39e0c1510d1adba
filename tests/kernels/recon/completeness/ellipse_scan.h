// Frames of an elliptical cylinder of water, for checks of whole scans.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// Along z; half axes and centre, mm.
struct EllipticBody {
  double a_mm = 80, b_mm = 50, x_mm = 15, y_mm = 8;
};

/// Noise: its standard deviation, as a share of the intensity.
struct EllipseScan {
  Acquisition acquisition;
  std::vector<std::vector<uint16_t>> frames;  // [view][v][u]

  EllipseScan(int views, double arc_deg, const EllipticBody& body, double noise,
              double offset_px = 0) {
    acquisition = {.detector = {.columns = 256, .rows = 16, .pitch_u_mm = 1.5, .pitch_v_mm = 1.5},
                   .pixel_type = PixelType::kUint16Counts,
                   .i0_counts = 50000};
    acquisition.trajectory = *MakeCircularOrbit({.views = views,
                                                 .source_to_isocenter_mm = 750,
                                                 .source_to_detector_mm = 1200,
                                                 .arc = DegreesToRadians(arc_deg),
                                                 .offset_u_px = offset_px},
                                                acquisition.detector);
    std::mt19937 random(7);
    std::normal_distribution<double> factor(1, noise);
    for (const ProjectionMatrix& matrix : acquisition.trajectory) {
      std::vector<uint16_t> frame;
      for (int v = 0; v < acquisition.detector.rows; ++v) {
        for (int u = 0; u < acquisition.detector.columns; ++u) {
          const double intensity = std::exp(-Line(matrix, body, u));
          frame.push_back(static_cast<uint16_t>(
              std::lround(50000 * intensity * (noise > 0 ? factor(random) : 1))));
        }
      }
      frames.push_back(std::move(frame));
    }
  }

  /// In the plane z = 0, whatever the row.
  static double Line(const ProjectionMatrix& matrix, const EllipticBody& body, double u) {
    const std::array<double, 9> m = InverseLeft(matrix);
    const double sx = -(m[0] * matrix(0, 3) + m[1] * matrix(1, 3) + m[2] * matrix(2, 3));
    const double sy = -(m[3] * matrix(0, 3) + m[4] * matrix(1, 3) + m[5] * matrix(2, 3));
    const double middle = 7.5;  // row
    double rx = m[0] * u + m[1] * middle + m[2], ry = m[3] * u + m[4] * middle + m[5];
    const double length = std::hypot(rx, ry);
    rx /= length;
    ry /= length;
    // In the coordinates in which the ellipse is the unit circle.
    const double px = (sx - body.x_mm) / body.a_mm, py = (sy - body.y_mm) / body.b_mm;
    const double dx = rx / body.a_mm, dy = ry / body.b_mm;
    const double a = dx * dx + dy * dy, b = px * dx + py * dy, c = px * px + py * py - 1;
    const double discriminant = b * b - a * c;
    return discriminant <= 0 ? 0 : 0.02 * 2 * std::sqrt(discriminant) / a;
  }

  int views() const { return static_cast<int>(frames.size()); }
  std::vector<FrameRow> Rows(int view) const {
    std::vector<FrameRow> rows;
    const size_t columns = acquisition.detector.columns;
    for (int v = 0; v < acquisition.detector.rows; ++v) {
      rows.push_back({v, std::as_bytes(std::span(frames[view]).subspan(v * columns, columns))});
    }
    return rows;
  }
};

}  // namespace isocenter::recon
