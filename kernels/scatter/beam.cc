#include "kernels/scatter/beam.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::scatter {
namespace {

constexpr double kStepKev = 5;
constexpr double kMostBeamKev = 140;
constexpr int kThicknesses = 64;
constexpr int kIterations = 4000;

double WaterPerMm(const CrossSections& sections, double kev) {
  return 0.1 * sections.Total(kev)[kWater];  // of 1 g/cm³
}

absl::StatusOr<double> EnergyOf(const CrossSections& sections, double mu_per_mm) {
  double low = kLeastKev, high = kMostKev;
  if (!(mu_per_mm <= WaterPerMm(sections, low) && mu_per_mm >= WaterPerMm(sections, high))) {
    return absl::InvalidArgumentError(
        absl::StrCat("water.mu_water_per_mm is ", mu_per_mm, "; legal for a model of scatter is ",
                     WaterPerMm(sections, high), " to ", WaterPerMm(sections, low), ", water's at ",
                     high, " to ", low, " keV"));
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (WaterPerMm(sections, middle) > mu_per_mm ? low : high) = middle;
  }
  return low;
}

double Polynomial(std::span<const double> coefficient, double p) {
  double value = 0;
  for (size_t n = coefficient.size(); n > 0; --n) value = (value + coefficient[n - 1]) * p;
  return value;
}

// The measured line integral that the polynomial makes `line_integral` of; it ascends.
double Measured(std::span<const double> coefficient, double line_integral) {
  double low = 0, high = ops::kLongestLineIntegral;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (Polynomial(coefficient, middle) < line_integral ? low : high) = middle;
  }
  return low;
}

}  // namespace

absl::StatusOr<Beam> FitBeam(const ops::Calibration& calibration, const CrossSections& sections) {
  Beam beam;
  ISO_ASSIGN_OR_RETURN(beam.effective_kev, EnergyOf(sections, calibration.mu_water_per_mm));
  const std::vector<double>& coefficient = calibration.water.coefficient;
  if (coefficient.empty()) {
    beam.kev = {beam.effective_kev};
    beam.share = {1};
    return beam;
  }
  for (double kev = 25; kev <= kMostBeamKev; kev += kStepKev) beam.kev.push_back(kev);
  const size_t energies = beam.kev.size();
  // Row by row relative to what comes through, so that thick water counts as much as thin.
  std::vector<double> measured(kThicknesses), relative(kThicknesses * energies);
  std::vector<double> sensitivity(energies);
  // Beyond what it was fitted to, a polynomial says what no beam does.
  const double thickest = calibration.water.thickest_mm > 0
                              ? std::min(calibration.water.thickest_mm, kThickestWaterMm)
                              : kThickestWaterMm;
  for (int i = 0; i < kThicknesses; ++i) {
    const double mm = i * thickest / (kThicknesses - 1);
    measured[i] = Measured(coefficient, calibration.mu_water_per_mm * mm);
    for (size_t k = 0; k < energies; ++k) {
      double& entry = relative[i * energies + k];
      entry = std::exp(measured[i] - WaterPerMm(sections, beam.kev[k]) * mm);
      sensitivity[k] += entry;
    }
  }
  beam.share.assign(energies, 1.0 / static_cast<double>(energies));
  std::vector<double> fitted(kThicknesses);
  const auto predict = [&] {
    for (int i = 0; i < kThicknesses; ++i) {
      fitted[i] = 0;
      for (size_t k = 0; k < energies; ++k) fitted[i] += relative[i * energies + k] * beam.share[k];
    }
  };
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    predict();
    for (size_t k = 0; k < energies; ++k) {
      double back = 0;
      for (int i = 0; i < kThicknesses; ++i) back += relative[i * energies + k] / fitted[i];
      beam.share[k] *= back / sensitivity[k];
    }
  }
  predict();
  double worst = 0;
  for (const double value : fitted) worst = std::max(worst, std::abs(std::log(value)));
  if (worst > kMostBeamMissed) {
    return absl::FailedPreconditionError(
        absl::StrCat("no spectrum attenuates as the water polynomial says: the nearest misses a "
                     "line integral by ",
                     worst, " up to ", thickest, " mm; legal is ", kMostBeamMissed));
  }
  return beam;
}

}  // namespace isocenter::scatter
