#include "kernels/ops/defect_neighbours.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace isocenter::ops {
namespace {

struct Step {
  int du, dv;
};

// Along rows, columns and both diagonals.
constexpr std::array<Step, 4> kSteps = {{{1, 0}, {0, 1}, {1, 1}, {1, -1}}};

// Distance, in steps, of the nearest good pixel; 0: there is none within reach.
int DistanceToGood(const std::vector<bool>& defective, const Detector& detector, int32_t pixel,
                   Step step) {
  int u = pixel % detector.columns, v = pixel / detector.columns;
  for (int distance = 1; distance <= kDefectReach; ++distance) {
    u += step.du;
    v += step.dv;
    if (u < 0 || v < 0 || u >= detector.columns || v >= detector.rows) return 0;
    if (!defective[static_cast<size_t>(v) * detector.columns + u]) return distance;
  }
  return 0;
}

// The nearest good pixel along any of the lines, as a pair with itself.
std::optional<DefectPair> OneSided(const std::vector<bool>& defective, const Detector& detector,
                                   int32_t pixel) {
  std::optional<DefectPair> nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const Step& step : kSteps) {
    for (const int sign : {-1, 1}) {
      const int steps =
          DistanceToGood(defective, detector, pixel, {sign * step.du, sign * step.dv});
      const double length = steps * std::hypot(step.du, step.dv);
      if (steps == 0 || length >= least) continue;
      least = length;
      const int32_t good = pixel + sign * steps * (step.dv * detector.columns + step.du);
      nearest = DefectPair{.before = good,
                           .after = good,
                           .before_weight = 1,
                           .after_weight = 0,
                           .inverse_square_length = 1};
    }
  }
  return nearest;
}

}  // namespace

DefectNeighbours FindDefectNeighbours(const DefectMap& defects, const Detector& detector) {
  std::vector<bool> defective(static_cast<size_t>(detector.columns) * detector.rows);
  for (const int32_t pixel : defects.pixels) defective[pixel] = true;
  DefectNeighbours found{.pixels = defects.pixels};
  for (const int32_t pixel : defects.pixels) {
    found.first_pair.push_back(static_cast<int32_t>(found.pairs.size()));
    for (const Step& step : kSteps) {
      const int before = DistanceToGood(defective, detector, pixel, {-step.du, -step.dv});
      const int after = DistanceToGood(defective, detector, pixel, step);
      if (before == 0 || after == 0) continue;
      const auto length = static_cast<float>(before + after);
      const int offset = step.dv * detector.columns + step.du;
      const auto square_of_step = static_cast<float>(step.du * step.du + step.dv * step.dv);
      found.pairs.push_back({.before = pixel - before * offset,
                             .after = pixel + after * offset,
                             .before_weight = static_cast<float>(after) / length,
                             .after_weight = static_cast<float>(before) / length,
                             .inverse_square_length = 1 / (length * length * square_of_step)});
    }
    if (static_cast<int32_t>(found.pairs.size()) > found.first_pair.back()) continue;
    const std::optional<DefectPair> one_sided = OneSided(defective, detector, pixel);
    if (one_sided.has_value()) found.pairs.push_back(*one_sided);
  }
  found.first_pair.push_back(static_cast<int32_t>(found.pairs.size()));
  return found;
}

}  // namespace isocenter::ops
