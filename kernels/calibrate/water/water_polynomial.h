// Chords of water as a polynomial of line integrals.
#pragma once

#include <vector>

#include "kernels/calibrate/water/water_fit.h"

namespace isocenter::calibrate {

using Polynomial = std::vector<double>;  // of p, p², ...

double Value(const Polynomial& c, double p);
double Slope(const Polynomial& c, double p);
inline constexpr int kWaterCoefficients = 4;
/// So many coefficients (weighted least squares, iterated after Huber), continued to twice the
/// longest line integral with the slope at its end; fewer where they do not ascend to
/// ops::kLongestLineIntegral behind the `hardest` column. `points` ascend.
Polynomial ChordOfLineIntegral(std::vector<WaterPoint> points,
                               int most_coefficients = kWaterCoefficients, float hardest = 0);
/// The line integral of so much water; the polynomial ascends.
double Inverse(const Polynomial& polynomial, double water_mm);

}  // namespace isocenter::calibrate
