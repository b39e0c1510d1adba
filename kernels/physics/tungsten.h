// The spectrum of a diagnostic X-ray tube.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/physics/spectrum.h"

namespace isocenter::physics {

/// A tube with an anode of tungsten at constant potential.
struct Tube {
  double kv = 80;               // 40 to 150
  double anode_angle_deg = 12;  // 5 to 45
  double aluminium_mm = 2.5;    // all filtration, with the tube's own; 1 to 50
  double copper_mm = 0;         // 0 to 10
};

/// In bins of 1 keV: thick-target bremsstrahlung after Kramers (Phil. Mag. 46 (1923) 836) with the
/// slowing down, the self-absorption and the K lines of Tucker, Barnes, Chakraborty (Med. Phys. 18
/// (1991) 211). The continuum's slope at its tip and the strength of the lines are fitted: measured
/// half-value layers of 50 to 135 kV behind 2.2 to 4 mm of aluminium and up to 2 mm of copper are
/// met within 7.5 % (tungsten_test.cc). Relative photons only. Ripple, extrafocal radiation and L
/// lines are not modelled. Errors: those of ValidateTube.
absl::StatusOr<Spectrum> TungstenSpectrum(const Tube& tube);

/// INVALID_ARGUMENT with the field, its value and what is legal.
absl::Status ValidateTube(const Tube& tube);

/// The same photons, not normalised: those of one tube compare between take-off angles.
struct TubeOutput {
  std::vector<double> kev, photons;
};

/// What leaves the anode of a valid tube at `take_off_deg` to its surface (above 0, up to 90) in
/// place of its own angle: the nearer to the surface, the longer the way in tungsten (heel effect).
TubeOutput TungstenOutput(const Tube& tube, double take_off_deg);

}  // namespace isocenter::physics
