// Scatter kernels, from frames of an object with and without its scatter.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/calibrate/coarse_frame.h"
#include "kernels/calibrate/figure.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

/// One view on blocks, relative to the empty beam: what comes straight through, and what is
/// scattered.
struct ScatterView {
  std::vector<double> primary, scatter;
};

inline constexpr int kMostScatterViews = 16;
inline constexpr int kMostFittedGroups = 3;
/// Scatter behind the object, of the empty beam (%): below there is nothing to fit.
inline constexpr double kLeastScatterPercent = 0.1;
/// Root mean square of what the kernels miss, of the scatter's (%), both relative to all that
/// arrives: where little does, scatter counts.
inline constexpr double kMostScatterMissedPercent = 15;
/// Thickest water of the view that has least of it, of that of the view that has most: above, the
/// kernels know one thickness of object.
inline constexpr double kOneThickness = 0.9;

/// What ops::CorrectScatter estimates when it knows the primary.
std::vector<double> PredictScatter(const ops::ScatterKernels& kernels, const CoarseShape& shape,
                                   const std::vector<double>& primary);

struct ScatterFit {
  ops::ScatterKernels kernels;
  std::vector<double> missed;  // blocks of the first view: predicted less measured
  Figures figures;
  std::vector<std::string> warnings;
};

/// The kernels whose PredictScatter comes closest to all views, relative to all that arrives
/// (Levenberg-Marquardt, parameters held within their ranges by logistic functions), with one to
/// kMostFittedGroups groups of equal thicknesses up to the largest: another group is taken where it
/// misses a tenth less. Errors: INVALID_ARGUMENT (views, their sizes, numbers, mu_water_per_mm),
/// FAILED_PRECONDITION (the figure and its bound).
absl::StatusOr<ScatterFit> FitScatter(const std::vector<ScatterView>& views,
                                      const CoarseShape& shape, double mu_water_per_mm);

}  // namespace isocenter::calibrate
