// How a cylinder of water would be reconstructed, from its line integrals.
#pragma once

#include <vector>

namespace isocenter::calibrate {

struct ChordIntegral {
  double chord_mm = 0;
  double line_integral = 0;
};

/// The value at the center less that at nine tenths of the radius (HU relative to
/// `mu_water_per_mm`) of the profile a + b·(r/R)² + c·(r/R)⁴ whose line integrals come closest
/// (least squares). At least three different chords of at most 2R.
double CuppingHu(const std::vector<ChordIntegral>& integrals, double diameter_mm,
                 double mu_water_per_mm);

}  // namespace isocenter::calibrate
