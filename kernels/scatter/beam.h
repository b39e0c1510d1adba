// What is known of a beam's energies: how much of it comes through water.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/calibration.h"
#include "kernels/scatter/cross_sections.h"

namespace isocenter::scatter {

/// Energies as the detector weighs them: the shares are of the signal of the empty beam.
struct Beam {
  std::vector<double> kev, share;
  double effective_kev = 0;  // at which water attenuates as the calibration says
};

/// Thickness of water up to which the beam is fitted (mm), or up to which the polynomial was.
inline constexpr double kThickestWaterMm = 320;
/// The fit may miss the line integrals of water by so much.
inline constexpr double kMostBeamMissed = 0.02;

/// Shares, not negative, of energies 5 keV apart, with which water attenuates as the calibration's
/// water polynomial says (expectation maximisation, which ends at the smoothest that fits: Sidky et
/// al., J. Appl. Phys. 97 (2005) 124701); without a polynomial one energy. Any beam that attenuates
/// so does, since what is asked of it is how scatter is attenuated. Errors: INVALID_ARGUMENT
/// (water's attenuation is not known or is not that of any energy), FAILED_PRECONDITION (no beam
/// attenuates like that).
absl::StatusOr<Beam> FitBeam(const ops::Calibration& calibration, const CrossSections& sections);

}  // namespace isocenter::scatter
