#include "kernels/cpu/fdk/cut_rows_plan.h"

#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::cpu {
namespace {

void PlanMirror(CutRowsPlan& plan) {
  for (int64_t k = 1; k <= plan.extension; ++k) {
    const double angle = kPi * static_cast<double>(k) / static_cast<double>(plan.extension + 1);
    plan.fade.push_back(static_cast<float>((1 + std::cos(angle)) / 2));
  }
}

// The least-squares parabola by the orthogonal polynomial of second order on n points,
// (j - (n-1)/2)² - (n²-1)/12, whose squares add up to n (n²-1) (n²-4) / 180.
void PlanCylinder(int columns, CutRowsPlan& plan) {
  const int count = ops::CurvaturePixels(columns);
  const double n = count, norm = n * (n * n - 1) * (n * n - 4) / 180;
  for (int j = 0; j < count; ++j) {
    const double x = j - (n - 1) / 2;
    plan.curvature.push_back(static_cast<float>(-(x * x - (n * n - 1) / 12) / norm));
  }
  const double m = ops::SlopePixels(columns), squares = m * (m + 1) * (2 * m + 1) / 6;
  for (int k = 1; k <= ops::SlopePixels(columns); ++k) {
    plan.slope.push_back(static_cast<float>(-k / squares));
  }
  plan.slope_of_curvature = static_cast<float>(-m * m * (m + 1) * (m + 1) / 4 / squares);
}

}  // namespace

CutRowsPlan MakeCutRowsPlan(const ops::RampFilterSpec& spec) {
  CutRowsPlan plan{.truncation = spec.truncation,
                   .columns = spec.columns,
                   .extension = ops::ExtensionLength(spec)};
  if (spec.truncation == ops::Truncation::kMirror) PlanMirror(plan);
  if (spec.truncation == ops::Truncation::kCylinder && plan.extension > 0) {
    PlanCylinder(spec.columns, plan);
  }
  return plan;
}

}  // namespace isocenter::cpu
