#include "kernels/ops/hounsfield.h"

#include <cmath>
#include <cstddef>

namespace isocenter::ops {
namespace {

using Coordinate = double HounsfieldTable::Point::*;

// On the line through the two points around x, or the outermost two.
double Interpolated(const HounsfieldTable& table, Coordinate from, Coordinate to, double x) {
  const auto& points = table.points;
  if (points.empty()) return x;
  size_t after = 1;
  while (after + 1 < points.size() && points[after].*from < x) ++after;
  const auto &a = points[after - 1], &b = points[after];
  return a.*to + (x - a.*from) * (b.*to - a.*to) / (b.*from - a.*from);
}

}  // namespace

double HounsfieldOf(const HounsfieldScale& scale, double mu_per_mm) {
  if (!std::isfinite(mu_per_mm)) return -1000;
  const double measured = 1000 * (mu_per_mm - scale.mu_water_per_mm) / scale.mu_water_per_mm;
  return Interpolated(scale.table, &HounsfieldTable::Point::measured_hu,
                      &HounsfieldTable::Point::true_hu, measured);
}

double AttenuationOf(const HounsfieldScale& scale, double hounsfield) {
  const double measured = Interpolated(scale.table, &HounsfieldTable::Point::true_hu,
                                       &HounsfieldTable::Point::measured_hu, hounsfield);
  return scale.mu_water_per_mm * (1 + measured / 1000);
}

HounsfieldHinges HingesOf(const HounsfieldTable& table) {
  HounsfieldHinges hinges;
  const auto& points = table.points;
  if (points.empty()) return hinges;
  const auto slope = [&](size_t i) {
    return (points[i + 1].true_hu - points[i].true_hu) /
           (points[i + 1].measured_hu - points[i].measured_hu);
  };
  hinges.slope = static_cast<float>(slope(0));
  hinges.offset = static_cast<float>(points[0].true_hu - slope(0) * points[0].measured_hu);
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    hinges.at[hinges.count] = static_cast<float>(points[i].measured_hu);
    hinges.turn[hinges.count++] = static_cast<float>(slope(i) - slope(i - 1));
  }
  return hinges;
}

HounsfieldHinges AttenuationHinges(const HounsfieldScale& scale) {
  HounsfieldHinges hinges;
  const auto& points = scale.table.points;
  const double per_hu = scale.mu_water_per_mm / 1000;
  const auto slope = [&](size_t i) {
    return per_hu * (points[i + 1].measured_hu - points[i].measured_hu) /
           (points[i + 1].true_hu - points[i].true_hu);
  };
  const double first = points.empty() ? per_hu : slope(0);
  hinges.slope = static_cast<float>(first);
  hinges.offset = static_cast<float>(scale.mu_water_per_mm);
  if (points.empty()) return hinges;
  hinges.offset = static_cast<float>(scale.mu_water_per_mm + per_hu * points[0].measured_hu -
                                     first * points[0].true_hu);
  for (size_t i = 1; i + 1 < points.size(); ++i) {
    hinges.at[hinges.count] = static_cast<float>(points[i].true_hu);
    hinges.turn[hinges.count++] = static_cast<float>(slope(i) - slope(i - 1));
  }
  return hinges;
}

}  // namespace isocenter::ops
