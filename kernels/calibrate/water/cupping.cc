#include "kernels/calibrate/water/cupping.h"

#include <Eigen/Dense>
#include <cmath>

namespace isocenter::calibrate {

double CuppingHu(const std::vector<ChordIntegral>& integrals, double diameter_mm,
                 double mu_water_per_mm) {
  // ∫ (s² + t²)ⁿ dt over |t| <= h, the half chord, at the distance s from the center; all relative
  // to the radius.
  const double radius = diameter_mm / 2;
  Eigen::MatrixXd of_powers(integrals.size(), 3);
  Eigen::VectorXd measured(integrals.size());
  for (size_t i = 0; i < integrals.size(); ++i) {
    const double h = integrals[i].chord_mm / diameter_mm;
    const double ss = 1 - h * h, hh = h * h;
    of_powers.row(i) << 2 * h, 2 * h * (ss + hh / 3),
        2 * h * (ss * ss + 2 * ss * hh / 3 + hh * hh / 5);
    measured[i] = integrals[i].line_integral / radius;
  }
  const Eigen::Vector3d profile = of_powers.colPivHouseholderQr().solve(measured);
  constexpr double kAt = 0.9 * 0.9;
  return -1000 * (profile[1] * kAt + profile[2] * kAt * kAt) / mu_water_per_mm;
}

}  // namespace isocenter::calibrate
