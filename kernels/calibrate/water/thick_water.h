// Whether a beam behind thick water is that of a tube at all.
#pragma once

#include <vector>

#include "kernels/calibrate/figure.h"
#include "kernels/calibrate/water/water_fit.h"

namespace isocenter::calibrate {

/// Water's attenuation (1/mm) at `kev`, 40 to 150. Source: Hubbell, Seltzer, NISTIR 5632.
double WaterAttenuation(double kev);

/// Water hardens a beam, up to the hardest photons that its tube makes: one more millimetre cannot
/// attenuate less than it does those. Light that has not come through the water, which is counted
/// where little else is, does that: an offset that the dark frames do not have, scatter, glare.
struct ThickWater {
  /// "attenuation behind thick water": the slope of line integrals over the thickest quarter of the
  /// chords (least squares).
  Figure attenuation;
  std::vector<std::string> warnings;
};
/// `points`: as WaterFit, two of them at least in that quarter. `tube_voltage_kv`: 40 to 150; 0:
/// not known, then 150 is taken.
ThickWater JudgeThickWater(const std::vector<WaterPoint>& points, double tube_voltage_kv);

}  // namespace isocenter::calibrate
