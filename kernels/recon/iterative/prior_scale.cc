#include "kernels/recon/iterative/prior_scale.h"

#include <cmath>

namespace isocenter::recon {

PriorScale ScaleOfPriors(const VolumeGrid& grid, double density) {
  constexpr double kWaterPerMm = 0.02, kQuadratic = 10;  // mm³
  const double edge = std::cbrt(grid.spacing.x * grid.spacing.y * grid.spacing.z);
  return {.quadratic = kQuadratic * density * edge,
          .total_variation = density * edge * edge * kWaterPerMm};
}

}  // namespace isocenter::recon
