#include "kernels/recon/self_calibration/detector_move.h"

#include <cmath>

namespace isocenter::recon {
namespace {

struct Middle {
  double u, v;
};

Middle MiddleOf(const Detector& detector) {
  return {(detector.columns - 1) / 2.0, (detector.rows - 1) / 2.0};
}

}  // namespace

ProjectionMatrix Moved(const ProjectionMatrix& matrix, const Detector& detector,
                       const DetectorMove& move) {
  const auto [middle_u, middle_v] = MiddleOf(detector);
  const double cosine = std::cos(move.roll_rad), sine = std::sin(move.roll_rad);
  const double aspect = detector.pitch_v_mm / detector.pitch_u_mm;
  ProjectionMatrix moved = matrix;
  for (int i = 0; i < 4; ++i) {
    const double w = matrix.m[8 + i];
    const double u = matrix.m[i] - middle_u * w, v = matrix.m[4 + i] - middle_v * w;
    moved.m[i] = cosine * u - aspect * sine * v + (middle_u + move.u_mm / detector.pitch_u_mm) * w;
    moved.m[4 + i] =
        sine / aspect * u + cosine * v + (middle_v + move.v_mm / detector.pitch_v_mm) * w;
  }
  return moved;
}

}  // namespace isocenter::recon
