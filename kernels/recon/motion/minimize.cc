#include "kernels/recon/motion/minimize.h"

#include <lbfgs.h>

#include <algorithm>
#include <limits>

namespace isocenter::recon {
namespace {

struct Search {
  const Function& function;
  std::vector<double>& best;
  Minimum minimum{.value = std::numeric_limits<double>::infinity()};
  absl::Status status;
};

double Evaluate(void* instance, const double* x, double* gradient, int n, double) {
  Search& search = *static_cast<Search*>(instance);
  const std::span<const double> parameters(x, n);
  const std::span<double> slopes(gradient, n);
  ++search.minimum.evaluations;
  const absl::StatusOr<double> value = search.function(parameters, slopes);
  if (!value.ok()) {
    // The library knows no errors of functions: this one is seen after the step.
    search.status.Update(value.status());
    std::fill(slopes.begin(), slopes.end(), 0.0);
    return 0;
  }
  if (*value < search.minimum.value) {
    search.minimum.value = *value;
    search.best.assign(parameters.begin(), parameters.end());
  }
  return *value;
}

int Progress(void* instance, const double*, const double*, double, double, double, double, int, int,
             int) {
  return static_cast<Search*>(instance)->status.ok() ? 0 : 1;
}

}  // namespace

absl::StatusOr<Minimum> Minimize(const Function& function, double first_step, int most_iterations,
                                 double least_fall, std::vector<double>& parameters) {
  std::vector<double> x = parameters;
  // The library's first step has length 1.
  const Function scaled = [&](std::span<const double> at, std::span<double> slopes) {
    std::vector<double> far(at.begin(), at.end());
    for (double& value : far) value *= first_step;
    absl::StatusOr<double> value = function(far, slopes);
    for (double& slope : slopes) slope *= first_step;
    return value;
  };
  Search search{.function = scaled, .best = parameters};
  for (double& value : x) value /= first_step;
  lbfgs_parameter_t choice;
  lbfgs_parameter_init(&choice);
  choice.m = 12;
  choice.past = 5;
  choice.delta = least_fall;
  choice.epsilon = 1e-9;
  choice.max_iterations = most_iterations;
  choice.max_linesearch = 12;
  double value = 0;
  // Where no step falls any further the search is at its end, too: the best is kept.
  lbfgs(static_cast<int>(x.size()), x.data(), &value, Evaluate, Progress, &search, &choice);
  if (!search.status.ok()) return search.status;
  for (double& parameter : parameters) parameter *= first_step;
  return search.minimum;
}

}  // namespace isocenter::recon
