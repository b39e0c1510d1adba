// What a tube's voltage permits of water's attenuation, and what a set had before.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/calibrate/figure.h"

namespace isocenter::cli {

/// The hardest beam that is expected of a C-arm has so much copper (mm) besides 2.5 mm of
/// aluminium; the softest has none: less aluminium is not legal above 70 kV (IEC 60601-1-3).
inline constexpr double kMostCopperMm = 1;
/// By how much (%) water's attenuation may be beyond theirs: the spectra's half-value layers are
/// right within 7.5 %, which is about so much of it.
inline constexpr double kBeamModelPercent = 3;
/// Cupping (HU) of a cylinder that is not the beam's: scatter, glare, or offsets that have drifted.
inline constexpr double kMostOtherCuppingHu = 25;
/// How much (%) water's attenuation may differ from that of the set's part before.
inline constexpr double kMostWaterChangePercent = 1.5;

/// Attenuation (1/mm) behind so much water, and the cupping (HU) of such a cylinder.
struct ExpectedWater {
  double least_per_mm = 0, most_per_mm = 0;  // of the hardest and softest beam, the margin included
  std::optional<double> cupping_hu;  // of the beam between them that attenuates as was found
};
/// For tungsten tubes of `kv` in front of 0.6 mm of caesium iodide; `found_per_mm` is behind
/// `water_mm`. Empty for a tube voltage that spectra are not known of (40 to 150 kV are).
std::optional<ExpectedWater> WaterOfTube(double kv, double water_mm, double found_per_mm);

/// Holds the figures of a fit of water (calibrate::FitWater) against what a beam of `kv` (0: not
/// known) does and against `before_per_mm` (0: there was none): sets the limit of water's
/// attenuation, and returns what is to be warned of.
std::vector<std::string> JudgeByTube(double kv, double before_per_mm, calibrate::Figures& figures);

}  // namespace isocenter::cli
