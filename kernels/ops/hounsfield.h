// Attenuation in Hounsfield units, as a calibration says.
#pragma once

#include "kernels/ops/calibration.h"

namespace isocenter::ops {

/// HU = table(1000 · (mu - mu_water) / mu_water); without points the table changes nothing.
struct HounsfieldScale {
  double mu_water_per_mm = 0.02;
  HounsfieldTable table;
};

/// -1000 where mu is not finite. The scale is legal (CheckHounsfieldTable, mu_water above 0).
double HounsfieldOf(const HounsfieldScale& scale, double mu_per_mm);
/// The attenuation of which this is the HU.
double AttenuationOf(const HounsfieldScale& scale, double hounsfield);

/// A table as fast backends take it: offset + slope·h + Σ turn[k]·max(0, h - at[k]).
struct HounsfieldHinges {
  float offset = 0, slope = 1;
  int count = 0;
  float at[30] = {}, turn[30] = {};
};
HounsfieldHinges HingesOf(const HounsfieldTable& table);
/// AttenuationOf in the same form: from HU to 1/mm.
HounsfieldHinges AttenuationHinges(const HounsfieldScale& scale);

}  // namespace isocenter::ops
