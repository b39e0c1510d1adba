#include "kernels/calibrate/scatter/scatter_model_fit.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::calibrate {
namespace {

// Sums over all cells; s and m are relative to what arrives.
struct Sums {
  double ss = 0, sm = 0, mm = 0, scatter = 0, largest_ratio = 0;
  int64_t cells = 0;

  void Add(double primary, double scatter_here, double model) {
    const double arrives = primary + scatter_here;
    if (!std::isfinite(arrives + model) || !(arrives > 0) || !(primary > 0)) return;
    const double s = scatter_here / arrives, m = model / arrives;
    ss += s * s;
    sm += s * m;
    mm += m * m;
    scatter += scatter_here;
    largest_ratio = std::max(largest_ratio, scatter_here / primary);
    ++cells;
  }
};

}  // namespace

absl::StatusOr<ScatterModelFit> FitScatterModel(const std::vector<ModelledView>& views) {
  Sums sums;
  for (const ModelledView& view : views) {
    if (view.scatter.size() != view.primary.size() || view.model.size() != view.primary.size()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "a view has %d cells of primary, %d of scatter and %d of the model; legal are as many",
          view.primary.size(), view.scatter.size(), view.model.size()));
    }
    for (size_t i = 0; i < view.primary.size(); ++i) {
      sums.Add(view.primary[i], view.scatter[i], view.model[i]);
    }
  }
  if (sums.cells == 0 || !(sums.mm > 0)) {
    return absl::InvalidArgumentError(
        "there is no cell with a primary and a model of its scatter; legal is 1 or more");
  }
  const Figure scatter{"modelled scatter", 100 * sums.scatter / static_cast<double>(sums.cells),
                       "% of air", AtLeast(kLeastModelledPercent)};
  if (!(scatter.value >= kLeastModelledPercent)) {
    return NotGoodEnough(scatter, absl::StrFormat("%g %% at least", kLeastModelledPercent),
                         "do both acquisitions show the object, and one its scatter?");
  }
  ScatterModelFit fit{.model = {.scale = sums.sm / sums.mm}};
  const double left = std::max(0.0, sums.ss - fit.model.scale * sums.sm);
  const Figure missed{"scatter that the model misses", 100 * std::sqrt(left / sums.ss), "%",
                      AtMost(kMostModelMissedPercent)};
  fit.figures = {scatter,
                 {"largest ratio of modelled scatter", sums.largest_ratio, ""},
                 missed,
                 {"scale of the model", fit.model.scale, ""}};
  if (missed.value > kMostModelMissedPercent) {
    return NotGoodEnough(missed, absl::StrFormat("at most %g %%", kMostModelMissedPercent),
                         "is the object whole in the frames, and of water or bone?");
  }
  ISO_RETURN_IF_ERROR(ops::CheckScatterModel(fit.model));
  return fit;
}

}  // namespace isocenter::calibrate
