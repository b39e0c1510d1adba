#include "kernels/calibrate/cylinder_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unsupported/Eigen/LevenbergMarquardt>
#include <unsupported/Eigen/NumericalDiff>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/figure.h"

namespace isocenter::calibrate {
namespace {

constexpr int kRowsOfAView = 8;
constexpr size_t kFittedRays = 15000;
constexpr int kCoefficients = 4;
constexpr double kLeastAirShare = 0.02;  // of a view's rays
constexpr double kOpaque = 1e-4;         // less than any scan's noise
constexpr double kMostTilt = 0.2;
constexpr double kClassShare = 0.003;  // of the diameter
constexpr int kLeastRaysOfAClass = 20;

double LineIntegral(const MeasuredRay& ray) {
  return -std::log(std::max(ray.transmission, kOpaque));
}

Vec3 Unit(Vec3 v) { return (1 / Norm(v)) * v; }

/// Four numbers of one unit: x and y of the axis in two planes.
constexpr double kPlaneMm = 10;
Cylinder ToCylinder(const Eigen::VectorXd& p, double diameter_mm) {
  return {.diameter_mm = diameter_mm,
          .x_mm = (p[0] + p[2]) / 2,
          .y_mm = (p[1] + p[3]) / 2,
          .tilt_x = (p[2] - p[0]) / (2 * kPlaneMm),
          .tilt_y = (p[3] - p[1]) / (2 * kPlaneMm)};
}

struct Misfit : Eigen::DenseFunctor<double> {
  const std::vector<MeasuredRay>& rays;
  double diameter_mm;

  Misfit(const std::vector<MeasuredRay>& of, double diameter)
      : DenseFunctor<double>(4, static_cast<int>(of.size())), rays(of), diameter_mm(diameter) {}

  // Rays of long ways are noisy, and near the border a small shift is a long way: both count less.
  int operator()(const InputType& parameters, ValueType& misfit) const {
    const Cylinder cylinder = ToCylinder(parameters, diameter_mm);
    Eigen::MatrixXd powers(rays.size(), kCoefficients);
    for (size_t i = 0; i < rays.size(); ++i) {
      const double p = LineIntegral(rays[i]);
      const double weight = std::max(0.0, p) * std::exp(-p / 2);
      double power = weight;
      for (int n = 0; n < kCoefficients; ++n) powers(i, n) = power *= p;
      misfit[i] = weight * cylinder.ChordMm(rays[i]) / cylinder.diameter_mm;
    }
    const Eigen::VectorXd coefficients =
        (powers.transpose() * powers).ldlt().solve(powers.transpose() * misfit);
    misfit -= powers * coefficients;
    return 0;
  }
};

/// Where the planes through the source and the middle of each view's shadow meet.
absl::StatusOr<Eigen::VectorXd> FirstGuess(const std::vector<MeasuredRay>& rays) {
  struct Middle {
    double x = 0, y = 0;
    Vec3 source;
  };
  std::map<int, Middle> middles;
  for (const MeasuredRay& ray : rays) {
    const double weight = std::max(0.0, LineIntegral(ray) - 0.1);
    Middle& middle = middles[ray.view];
    middle.x += weight * ray.direction.x;
    middle.y += weight * ray.direction.y;
    middle.source = ray.source;
  }
  Eigen::Matrix2d sum = Eigen::Matrix2d::Zero();
  Eigen::Vector2d right = Eigen::Vector2d::Zero();
  for (const auto& [view, middle] : middles) {
    Eigen::Vector2d normal(-middle.y, middle.x);
    if (normal.norm() == 0) continue;
    normal.normalize();
    const double distance = normal.dot(Eigen::Vector2d(middle.source.x, middle.source.y));
    sum += normal * normal.transpose();
    right += normal * distance;
  }
  if (std::abs(sum.determinant()) < 1e-3) {
    return absl::FailedPreconditionError(
        "the scan shows no cylinder, or only from one side; legal is a scan around it");
  }
  const Eigen::Vector2d at = sum.ldlt().solve(right);
  Eigen::VectorXd guess(4);
  guess << at, at;
  return guess;
}

double OffPercent(double seen_mm, double given_mm) {
  return 100 * std::abs(seen_mm / given_mm - 1);
}

/// One ray for each class of distances from the cylinder's axis, about the z axis and across it:
/// the mean transmission is not biased by noise, as logarithms of single rays are. With those a
/// scan of 2000 photons a pixel showed 100 mm as 132.
std::vector<MeasuredRay> MeanRays(const std::vector<MeasuredRay>& rays, const Cylinder& cylinder) {
  struct Class {
    double distance = 0, transmission = 0;
    int rays = 0;
  };
  const double width_mm = kClassShare * cylinder.diameter_mm;
  std::map<int, Class> classes;
  for (const MeasuredRay& ray : rays) {
    const double distance = cylinder.DistanceMm(ray);
    if (!(distance < kMostDiameterMm)) continue;
    Class& one = classes[static_cast<int>(distance / width_mm)];
    one.distance += distance;
    one.transmission += ray.transmission;
    ++one.rays;
  }
  std::vector<MeasuredRay> means;
  for (const auto& [number, one] : classes) {
    if (one.rays < kLeastRaysOfAClass) continue;
    means.push_back({.source = {-kMostDiameterMm, one.distance / one.rays, 0},
                     .direction = {1, 0, 0},
                     .transmission = one.transmission / one.rays});
  }
  return means;
}

struct SeenDiameter {
  double mm = 0;
  double sigma_mm = 0;  // by how the rays scatter about the fit
};

/// Of diameters within a tenth of the given one, that which explains the rays best; where that is
/// another one, of all legal ones, as it is said then. `rays`: of MeanRays. Where the axis is does
/// not hang on it: a shadow is as wide on both sides.
SeenDiameter DiameterSeen(const std::vector<MeasuredRay>& rays, double given_mm,
                          double most_error_percent) {
  const Eigen::VectorXd axis = Eigen::VectorXd::Zero(4);
  constexpr int kSteps = 20;
  const double step_mm = 0.1 * given_mm / kSteps;
  Eigen::VectorXd misfit(rays.size());
  const auto misfit_at = [&](double diameter) {
    Misfit(rays, diameter)(axis, misfit);
    return misfit.squaredNorm();
  };
  double seen = given_mm, least = std::numeric_limits<double>::max();
  const auto look_at = [&](double diameter) {
    const double squares = misfit_at(diameter);
    if (squares >= least) return;
    least = squares;
    seen = diameter;
  };
  for (int i = -kSteps; i <= kSteps; ++i) look_at(given_mm + i * step_mm);
  if (OffPercent(seen, given_mm) > most_error_percent) {
    for (double d = kLeastDiameterMm; d <= kMostDiameterMm; d += step_mm) look_at(d);
  }
  // Between the steps the misfit is a parabola.
  const double below = misfit_at(seen - step_mm), above = misfit_at(seen + step_mm);
  const double curvature = (below - 2 * least + above) / (step_mm * step_mm);
  if (!(curvature > 0)) return {seen, step_mm};
  const double to_least = (below - above) / (2 * step_mm * curvature);
  const double at_least = least - curvature * to_least * to_least / 2;
  const double variance = std::max(0.0, at_least) / static_cast<double>(rays.size());
  return {seen + std::clamp(to_least, -step_mm, step_mm), std::sqrt(2 * variance / curvature)};
}

absl::Status CheckFound(const Cylinder& cylinder, double seen_mm, double most_error_percent) {
  const double tilt = std::hypot(cylinder.tilt_x, cylinder.tilt_y);
  if (!(tilt <= kMostTilt)) {
    return NotGoodEnough({"the cylinder's tilt against the rotation axis", tilt, "mm/mm"},
                         absl::StrFormat("at most %g", kMostTilt),
                         "the scan may show another object, or another diameter");
  }
  if (OffPercent(seen_mm, cylinder.diameter_mm) <= most_error_percent) return absl::OkStatus();
  return NotGoodEnough(
      {"the diameter that the scan shows", seen_mm, "mm"},
      absl::StrFormat("within %g %% of the given %g mm", most_error_percent, cylinder.diameter_mm),
      "is it the water's own, without the wall; is nothing else in the beam, and was nothing in "
      "that of the set's flat frames?");
}

absl::Status CheckAir(const std::vector<MeasuredRay>& rays, const Cylinder& cylinder) {
  struct Count {
    int all = 0, air = 0;
  };
  std::map<int, Count> views;
  for (const MeasuredRay& ray : rays) {
    Count& count = views[ray.view];
    ++count.all;
    count.air += cylinder.ChordMm(ray) == 0;
  }
  for (const auto& [view, count] : views) {
    if (count.air >= kLeastAirShare * count.all) continue;
    return NotGoodEnough(
        {absl::StrCat("air beside the cylinder in frame ", view), 100.0 * count.air / count.all,
         "% of the row"},
        absl::StrFormat("%g %% at least", 100 * kLeastAirShare),
        "the dose is read there; is it a scan of the cylinder, and of nothing else? Else "
        "move the cylinder, or take a thinner one");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddRays(std::span<const float> frame, const ProjectionMatrix& matrix,
                     const Detector& detector, int view, std::vector<MeasuredRay>& rays) {
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
  const std::array<double, 9> inverse = InverseLeft(matrix);
  const double middle = matrix.Project({}).v();
  const double mm_per_row = camera.isocenter_depth_mm / std::abs(camera.focal_v_px);
  const int first = std::max(0, static_cast<int>(std::ceil(middle - kHalfSlabMm / mm_per_row)));
  const int last =
      std::min(detector.rows - 1, static_cast<int>(std::floor(middle + kHalfSlabMm / mm_per_row)));
  if (last < first) {
    return absl::FailedPreconditionError(
        absl::StrCat("frame ", view, " shows the isocenter's plane in row ", middle,
                     "; legal is 0 to ", detector.rows - 1));
  }
  const int step = std::max(1, (last - first) / kRowsOfAView);
  for (int v = first; v <= last; v += step) {
    for (int u = 0; u < detector.columns; ++u) {
      const float transmission = frame[size_t(v) * detector.columns + u];
      if (std::isnan(transmission)) continue;
      const auto along = [&](int row) {
        return inverse[row * 3] * u + inverse[row * 3 + 1] * v + inverse[row * 3 + 2];
      };
      rays.push_back({.source = camera.source,
                      .direction = Unit({along(0), along(1), along(2)}),
                      .transmission = transmission,
                      .view = view,
                      .column = u});
    }
  }
  return absl::OkStatus();
}

double Cylinder::DistanceMm(const MeasuredRay& ray) const {
  const Vec3 across = Cross(Unit({tilt_x, tilt_y, 1}), ray.direction);
  return std::abs(Dot(ray.source - Vec3{x_mm, y_mm, 0}, across)) / Norm(across);
}

double Cylinder::ChordMm(const MeasuredRay& ray) const {
  const double sine = Norm(Cross(Unit({tilt_x, tilt_y, 1}), ray.direction));
  if (sine < 1e-6) return 0;
  const double distance = DistanceMm(ray);
  const double half = diameter_mm * diameter_mm / 4 - distance * distance;
  return half > 0 ? 2 * std::sqrt(half) / sine : 0;
}

absl::StatusOr<Cylinder> FitCylinder(const std::vector<MeasuredRay>& rays, double diameter_mm,
                                     double most_error_percent) {
  if (!(diameter_mm >= kLeastDiameterMm && diameter_mm <= kMostDiameterMm)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the cylinder's diameter is %g mm; legal is %g to %g", diameter_mm,
                        kLeastDiameterMm, kMostDiameterMm));
  }
  std::vector<MeasuredRay> fitted;
  const size_t step = (rays.size() + kFittedRays - 1) / kFittedRays;
  for (size_t i = 0; i < rays.size(); i += step) fitted.push_back(rays[i]);
  ISO_ASSIGN_OR_RETURN(Eigen::VectorXd parameters, FirstGuess(fitted));
  Eigen::NumericalDiff<Misfit> misfit(Misfit(fitted, diameter_mm), 1e-8);
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Misfit>> search(misfit);
  search.setMaxfev(100);
  search.setXtol(1e-7);
  search.minimize(parameters);
  Cylinder cylinder = ToCylinder(parameters, diameter_mm);
  // Air is what the cylinder that is there leaves, not one of a wrong diameter.
  const SeenDiameter seen = DiameterSeen(MeanRays(rays, cylinder), diameter_mm, most_error_percent);
  ISO_RETURN_IF_ERROR(CheckAir(rays, ToCylinder(parameters, seen.mm)));
  ISO_RETURN_IF_ERROR(CheckFound(cylinder, seen.mm, most_error_percent));
  cylinder.seen_mm = seen.mm;
  cylinder.seen_sigma_mm = seen.sigma_mm;
  return cylinder;
}

}  // namespace isocenter::calibrate
