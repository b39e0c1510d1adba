// A detector that is not where its matrices have it.
#pragma once

#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::recon {

/// What a frame shows is turned about the detector's middle, from columns towards rows, and then
/// shifted along columns' numbers (u) and along rows' (v).
struct DetectorMove {
  double u_mm = 0, v_mm = 0;  // on the detector
  double roll_rad = 0;
  friend bool operator==(const DetectorMove&, const DetectorMove&) = default;
};

/// The matrix of frames that show the object moved so: H·P with H the move in pixels. The source
/// and w stay as they are; a normalised matrix stays normalised.
ProjectionMatrix Moved(const ProjectionMatrix& matrix, const Detector& detector,
                       const DetectorMove& move);

}  // namespace isocenter::recon
