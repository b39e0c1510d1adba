// Minima of smooth functions of many parameters.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter::recon {

/// The function's value, and its derivatives into `gradient`. An error ends the search.
using Function = std::function<absl::StatusOr<double>(std::span<const double> parameters,
                                                      std::span<double> gradient)>;

struct Minimum {
  double value = 0;
  int evaluations = 0;
};

/// From `parameters`, which become the best that was found, by L-BFGS (Liu, Nocedal, Math. Program.
/// 45 (1989) 503; libLBFGS). `first_step` is how long the first step is; the search ends after
/// `most_iterations`, or where the value falls by less than the share `least_fall` in five.
/// Errors: the function's.
absl::StatusOr<Minimum> Minimize(const Function& function, double first_step, int most_iterations,
                                 double least_fall, std::vector<double>& parameters);

}  // namespace isocenter::recon
