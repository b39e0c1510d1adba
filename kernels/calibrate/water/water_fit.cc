#include "kernels/calibrate/water/water_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/water/cupping.h"
#include "kernels/calibrate/water/thick_water.h"
#include "kernels/calibrate/water/water_polynomial.h"

namespace isocenter::calibrate {
namespace {

constexpr int kClasses = 100, kLeastClasses = 25, kLeastRays = 30;
constexpr double kShortestShare = 0.1;  // of the diameter
constexpr double kCenterShare = 0.9;    // of it, of chords that pass near the center

}  // namespace

absl::StatusOr<std::vector<WaterPoint>> WaterPoints(const CylinderScan& scan) {
  struct Class {
    double chord = 0, transmission = 0;
    int rays = 0;
  };
  std::vector<Class> classes(kClasses);
  for (const MeasuredRay& ray : scan.rays) {
    const double chord = scan.cylinder.ChordMm(ray);
    const double share = chord / scan.cylinder.diameter_mm;
    if (share < kShortestShare) continue;
    Class& one = classes[std::min(kClasses - 1, static_cast<int>(share * kClasses))];
    one.chord += chord;
    one.transmission += ray.transmission;
    ++one.rays;
  }
  std::vector<WaterPoint> points;
  for (const Class& one : classes) {
    if (one.rays < kLeastRays || !(one.transmission > 0)) continue;
    points.push_back({one.chord / one.rays, -std::log(one.transmission / one.rays)});
  }
  if (points.size() >= kLeastClasses) return points;
  return absl::FailedPreconditionError(absl::StrCat("the scan has rays of ", points.size(), " of ",
                                                    kClasses, " classes of chords; legal is ",
                                                    kLeastClasses, " at least"));
}

absl::Status JudgeWater(double diameter_mm, double reference_mm, WaterFit& fit) {
  const double mu = fit.mu_water_per_mm;
  std::vector<ChordIntegral> before, after;
  double squares = 0;
  for (const WaterPoint& point : fit.points) {
    const double misfit = point.found_mm - point.water_mm;
    squares += misfit * misfit;
    if (point.water_mm > diameter_mm) continue;
    before.push_back({point.water_mm, point.line_integral});
    after.push_back({point.water_mm, mu * point.found_mm});
  }
  const Figure residual{"distance of the chords from the polynomial",
                        100 * std::sqrt(squares / static_cast<double>(fit.points.size())) /
                            fit.points.back().water_mm,
                        "%", AtMost(kMostWaterResidualPercent)};
  fit.figures = {{"water's attenuation", mu, "1/mm"},
                 {"water that it is stated for", reference_mm, "mm"},
                 {"thickest water", fit.polynomial.thickest_mm, "mm"},
                 residual};
  if (!(residual.value <= kMostWaterResidualPercent)) {
    return NotGoodEnough(residual, absl::StrFormat("at most %g %%", kMostWaterResidualPercent),
                         "is the diameter right, and is nothing but the cylinder in the beam? Of a "
                         "cylinder beside the axis the set must know the detector's lag");
  }
  if (fit.points.back().water_mm < kCenterShare * diameter_mm) return absl::OkStatus();
  const Figure left{"cupping after", CuppingHu(after, diameter_mm, mu), "HU",
                    Within(kMostCuppingLeftHu)};
  fit.figures.push_back({"cupping before", CuppingHu(before, diameter_mm, mu), "HU"});
  fit.figures.push_back(left);
  if (!(std::abs(left.value) <= kMostCuppingLeftHu)) {
    return NotGoodEnough(left, absl::StrFormat("within %g HU", kMostCuppingLeftHu),
                         "is the diameter right, and is nothing but the cylinder in the beam?");
  }
  return absl::OkStatus();
}

absl::StatusOr<WaterFit> FitWater(const std::vector<CylinderScan>& scans, double tube_voltage_kv) {
  if (scans.empty()) return absl::InvalidArgumentError("there is no scan of water");
  WaterFit fit;
  double thickest = 0;
  for (const CylinderScan& scan : scans) {
    ISO_ASSIGN_OR_RETURN(const std::vector<WaterPoint> points, WaterPoints(scan));
    fit.points.insert(fit.points.end(), points.begin(), points.end());
    thickest = std::max(thickest, scan.cylinder.diameter_mm);
  }
  std::sort(fit.points.begin(), fit.points.end(),
            [](const auto& a, const auto& b) { return a.water_mm < b.water_mm; });
  const Polynomial chord = ChordOfLineIntegral(fit.points);
  for (WaterPoint& point : fit.points) point.found_mm = Value(chord, point.line_integral);
  fit.polynomial.coefficient = chord;
  fit.polynomial.thickest_mm = std::min(fit.points.back().water_mm, ops::kMostFittedMm);
  ISO_RETURN_IF_ERROR(ops::CheckWaterPolynomial(fit.polynomial));
  const double reference_mm = std::min(kReferenceMm, thickest);
  fit.mu_water_per_mm = Inverse(chord, reference_mm) / reference_mm;
  for (double& c : fit.polynomial.coefficient) c *= fit.mu_water_per_mm;
  ISO_RETURN_IF_ERROR(ops::CheckWaterPolynomial(fit.polynomial));
  ISO_RETURN_IF_ERROR(JudgeWater(thickest, reference_mm, fit));
  ThickWater thick = JudgeThickWater(fit.points, tube_voltage_kv);
  fit.figures.push_back(std::move(thick.attenuation));
  fit.warnings = std::move(thick.warnings);
  return fit;
}

}  // namespace isocenter::calibrate
