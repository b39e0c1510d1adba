#include "kernels/cpu/fdk/cut_rows_plan.h"

#include <cmath>

#include "kernels/base/units.h"
#include "kernels/ops/row_outline.h"

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

// Discrete orthogonal polynomials x and x² - (n²-1)/12 of x = j - (n-1)/2, divided by the roots of
// their sums of squares.
void PlanRowFit(int columns, CutRowsPlan& plan) {
  const int count = columns - 2 * ops::RowFitMargin(columns);
  if (count < ops::kLeastRowFitPixels) return;
  const double n = count, middle = (n * n - 1) / 12;
  const double norm1 = std::sqrt(n * (n * n - 1) / 12);
  const double norm2 = std::sqrt(n * (n * n - 1) * (n * n - 4) / 180);
  for (int j = 0; j < count; ++j) {
    const double x = j - (n - 1) / 2;
    plan.first.push_back(static_cast<float>(x / norm1));
    plan.second.push_back(static_cast<float>((x * x - middle) / norm2));
  }
  const double edge = (columns - 1) / 2.0;
  plan.first_edge = static_cast<float>(edge / norm1);
  plan.first_slope = static_cast<float>(1 / norm1);
  plan.second_edge = static_cast<float>((edge * edge - middle) / norm2);
  plan.second_slope = static_cast<float>(2 * edge / norm2);
  plan.second_curvature = static_cast<float>(1 / norm2);
}

}  // namespace

CutRowsPlan MakeCutRowsPlan(const ops::RampFilterSpec& spec) {
  CutRowsPlan plan{.truncation = spec.truncation,
                   .columns = spec.columns,
                   .extension = ops::ExtensionLength(spec)};
  if (spec.truncation == ops::Truncation::kMirror) PlanMirror(plan);
  if (spec.truncation == ops::Truncation::kCylinder && plan.extension > 0) {
    PlanCylinder(spec.columns, plan);
    PlanRowFit(spec.columns, plan);
  }
  return plan;
}

}  // namespace isocenter::cpu
