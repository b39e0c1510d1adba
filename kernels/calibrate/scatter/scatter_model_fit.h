// How much of the scatter that a model computes a detector sees.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// One view on cells, relative to the empty beam: what comes straight through, what was scattered,
/// and what the model has for that. Numbers that are not finite are left out.
struct ModelledView {
  std::vector<double> primary, scatter, model;
};

/// Root mean square of what the model misses, of the scatter's (%), both relative to all that
/// arrives: where little does, scatter counts.
inline constexpr double kMostModelMissedPercent = 15;
/// Scatter behind the object, of the empty beam (%): below there is nothing to fit.
inline constexpr double kLeastModelledPercent = 0.1;

struct ScatterModelFit {
  ops::ScatterModel model;
  Figures figures;
};

/// The scale by which the model comes closest, relative to all that arrives. Errors:
/// INVALID_ARGUMENT (views or their sizes), FAILED_PRECONDITION (the figure and its bound).
absl::StatusOr<ScatterModelFit> FitScatterModel(const std::vector<ModelledView>& views);

}  // namespace isocenter::calibrate
