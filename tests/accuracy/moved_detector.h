// Scans whose detector was not where their matrices have it, and what is left of that after a
// correction: against the true matrices, after the similarity that no frame tells, and by the width
// of a wire. The cpu backend computes.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/self_calibration/detector_move.h"

namespace isocenter::moved_detector {

inline constexpr double kMuWater = 0.02;  // 1/mm
inline constexpr int kViews = 120;
inline constexpr Detector kDetector{
    .columns = 310, .rows = 240, .pitch_u_mm = 1.232, .pitch_v_mm = 1.232};
inline constexpr Shape3 kShape{kViews, 240, 310};

/// A circle of 200 degrees; the same with moves of the detector.
Trajectory Nominal();
Trajectory With(const std::vector<recon::DetectorMove>& moves);

/// Two waves along each axis, of 0.7 and 0.35 mm, whose phases are drawn.
std::vector<recon::DetectorMove> Wobble(uint64_t seed);

/// Line integrals as 40,000 photons and 16 bits have them.
std::vector<float> FramesOf(const phantom::Phantom& object, const Trajectory& seen,
                            uint64_t noise_seed = 4);

/// mm on the detector, the root mean square over views and points of a head, where the object lies
/// and is as large as it is seen nearest to the others.
double Apart(const Trajectory& one, const Trajectory& other);

/// The diameter of a disc as large as what is above half of the largest value, in a slice through a
/// wire that was seen with the true matrices. Pixels of 0.385 mm at the isocentre.
double WireWidth(const Trajectory& seen, const Trajectory& believed);

}  // namespace isocenter::moved_detector
