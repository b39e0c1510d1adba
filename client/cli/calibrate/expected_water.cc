#include "client/cli/calibrate/expected_water.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "absl/strings/str_format.h"
#include "kernels/calibrate/water/cupping.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/tungsten.h"

namespace isocenter::cli {
namespace {

constexpr double kLeastTubeKv = 40, kMostTubeKv = 150;
constexpr double kScreenMm = 0.6;

physics::Beam BeamOf(double kv, double copper_mm) {
  // Legal by the constants, but for an aluminium filter of the default.
  return *physics::Beam::Make(*physics::TungstenSpectrum({.kv = kv, .copper_mm = copper_mm}),
                              kScreenMm, {physics::KnownMaterial("water")});
}

double LineIntegral(const physics::Beam& beam, double water_mm) {
  return -std::log(beam.Behind(std::span(&water_mm, 1)).signal);
}

double Cupping(const physics::Beam& beam, double diameter_mm) {
  constexpr int kChords = 50;
  std::vector<calibrate::ChordIntegral> integrals;
  for (int i = 1; i <= kChords; ++i) {
    const double chord = diameter_mm * i / kChords;
    integrals.push_back({chord, LineIntegral(beam, chord)});
  }
  return calibrate::CuppingHu(integrals, diameter_mm,
                              LineIntegral(beam, diameter_mm) / diameter_mm);
}

calibrate::Figure* FigureNamed(const std::string& name, calibrate::Figures& figures) {
  const auto found = std::ranges::find(figures, name, &calibrate::Figure::name);
  return found == figures.end() ? nullptr : &*found;
}

std::string BeyondTube(double found_per_mm, double kv, const ExpectedWater& expected) {
  return absl::StrFormat(
      "water's attenuation is %.4f /mm; expected at %g kV is %.4f (behind %g mm of copper) to %.4f "
      "(behind 2.5 mm of aluminium): is water in the cylinder (acrylic has 10 %% more), is the "
      "tube voltage that of the set, and are its dark frames right?",
      found_per_mm, kv, expected.least_per_mm, kMostCopperMm, expected.most_per_mm);
}

std::string OtherCupping(double found_hu, double kv, double expected_hu) {
  return absl::StrFormat(
      "cupping before is %.1f HU; a beam of %g kV that attenuates water as this one makes %.1f of "
      "it (expected is within %g): scatter, glare, or dark frames of another temperature than the "
      "scan's, which the polynomial then takes for the beam's in every object",
      found_hu, kv, expected_hu, kMostOtherCuppingHu);
}

}  // namespace

std::optional<ExpectedWater> WaterOfTube(double kv, double water_mm, double found_per_mm) {
  if (!(kv >= kLeastTubeKv && kv <= kMostTubeKv)) return std::nullopt;
  const auto attenuation = [&](double copper_mm) {
    return LineIntegral(BeamOf(kv, copper_mm), water_mm) / water_mm;
  };
  const double hardest = attenuation(kMostCopperMm), softest = attenuation(0);
  ExpectedWater expected{.least_per_mm = (1 - kBeamModelPercent / 100) * hardest,
                         .most_per_mm = (1 + kBeamModelPercent / 100) * softest};
  if (found_per_mm < expected.least_per_mm || found_per_mm > expected.most_per_mm) return expected;
  double low = 0, high = kMostCopperMm;  // more copper attenuates less
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    (attenuation(middle) > found_per_mm ? low : high) = middle;
  }
  expected.cupping_hu = Cupping(BeamOf(kv, low), water_mm);
  return expected;
}

std::vector<std::string> JudgeByTube(double kv, double before_per_mm, calibrate::Figures& figures) {
  std::vector<std::string> warnings;
  calibrate::Figure& found = *FigureNamed("water's attenuation", figures);
  const double mu = found.value;
  const double water_mm = FigureNamed("water that it is stated for", figures)->value;
  const calibrate::Figure* cupping = FigureNamed("cupping before", figures);
  if (const std::optional<ExpectedWater> expected = WaterOfTube(kv, water_mm, mu)) {
    found.limit = absl::StrFormat("%.4f to %.4f, else a warning", expected->least_per_mm,
                                  expected->most_per_mm);
    if (!expected->cupping_hu) {
      warnings.push_back(BeyondTube(mu, kv, *expected));
    } else if (cupping != nullptr &&
               std::abs(cupping->value - *expected->cupping_hu) > kMostOtherCuppingHu) {
      warnings.push_back(OtherCupping(cupping->value, kv, *expected->cupping_hu));
    }
  }
  const double change = before_per_mm > 0 ? 100 * (mu / before_per_mm - 1) : 0;
  if (std::abs(change) > kMostWaterChangePercent) {
    warnings.push_back(absl::StrFormat(
        "water's attenuation is %.4f /mm, and was %.4f in the set that this one goes on from "
        "(%+.1f %%; expected is within %g %%): are the cylinder, its filling, the filter and the "
        "tube voltage the same?",
        mu, before_per_mm, change, kMostWaterChangePercent));
  }
  return warnings;
}

}  // namespace isocenter::cli
