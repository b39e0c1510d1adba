#include "kernels/calibrate/consistency/shift_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <optional>

#include "kernels/calibrate/robust.h"

namespace isocenter::calibrate {
namespace {

constexpr double kPriorPx = 2;
constexpr double kScalePerSigma = 3;
constexpr int kIterations = 4;

double Residual(const PlaneDifference& d, const Eigen::VectorXd& x) {
  return d.difference - d.first_by_u * x[2 * d.first] - d.first_by_v * x[2 * d.first + 1] +
         d.second_by_u * x[2 * d.second] + d.second_by_v * x[2 * d.second + 1];
}

double MedianAbsolute(const std::vector<PlaneDifference>& differences, const Eigen::VectorXd& x) {
  std::vector<double> all;
  for (const PlaneDifference& d : differences) all.push_back(std::abs(Residual(d, x)));
  return Median(std::move(all));
}

// x = curves · unknowns; without curves the unknowns are x.
ShiftFit Fit(const std::vector<PlaneDifference>& differences, int frames,
             const std::optional<Eigen::MatrixXd>& curves) {
  ShiftFit fit;
  fit.shifts.resize(frames);
  if (differences.empty()) return fit;
  const int unknowns = 2 * frames;
  Eigen::VectorXd x = Eigen::VectorXd::Zero(unknowns);
  fit.before = MedianAbsolute(differences, x);
  Eigen::LLT<Eigen::MatrixXd> factor;
  double sigma = 0;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    sigma = std::max(1e-30, 1.4826 * MedianAbsolute(differences, x));
    const double scale = kScalePerSigma * sigma;
    Eigen::MatrixXd left = Eigen::MatrixXd::Zero(unknowns, unknowns);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(unknowns);
    left.diagonal().setConstant(1 / (kPriorPx * kPriorPx));
    for (const PlaneDifference& d : differences) {
      const double r = Residual(d, x);
      const double weight = 1 / (1 + r * r / (scale * scale)) / (sigma * sigma);
      const std::array<int, 4> at = {2 * d.first, 2 * d.first + 1, 2 * d.second, 2 * d.second + 1};
      const std::array<double, 4> by = {d.first_by_u, d.first_by_v, -d.second_by_u, -d.second_by_v};
      for (int i = 0; i < 4; ++i) {
        right[at[i]] += weight * by[i] * d.difference;
        for (int j = 0; j < 4; ++j) left(at[i], at[j]) += weight * by[i] * by[j];
      }
    }
    if (curves) {
      factor.compute(curves->transpose() * left * *curves);
      x = *curves * factor.solve(curves->transpose() * right);
    } else {
      factor.compute(left);
      x = factor.solve(right);
    }
  }
  fit.after = MedianAbsolute(differences, x);
  const Eigen::MatrixXd covariance =
      curves ? Eigen::MatrixXd(*curves * factor.solve(curves->transpose()))
             : Eigen::MatrixXd(factor.solve(Eigen::MatrixXd::Identity(unknowns, unknowns)));
  for (int k = 0; k < frames; ++k) {
    fit.shifts[k] = {x[2 * k], x[2 * k + 1], std::sqrt(covariance(2 * k, 2 * k)),
                     std::sqrt(covariance(2 * k + 1, 2 * k + 1))};
  }
  return fit;
}

}  // namespace

ShiftFit FitShifts(const std::vector<PlaneDifference>& differences, int frames) {
  return Fit(differences, frames, std::nullopt);
}

ShiftFit FitShifts(const std::vector<PlaneDifference>& differences, int frames,
                   std::span<const double> curves) {
  const int count = static_cast<int>(curves.size()) / frames;
  Eigen::MatrixXd both = Eigen::MatrixXd::Zero(2 * frames, 2 * count);
  for (int frame = 0; frame < frames; ++frame) {
    for (int curve = 0; curve < count; ++curve) {
      both(2 * frame, 2 * curve) = curves[frame * count + curve];
      both(2 * frame + 1, 2 * curve + 1) = curves[frame * count + curve];
    }
  }
  return Fit(differences, frames, both);
}

}  // namespace isocenter::calibrate
