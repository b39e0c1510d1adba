#include "kernels/physics/tungsten.h"

#include <xraylib/xraylib.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"

namespace isocenter::physics {
namespace {

constexpr int kTungsten = 74;
constexpr double kElectronRestKev = 511;
constexpr int kDepths = 200;  // of the midpoint rule along an electron's way

// Fitted to measured half-value layers (tungsten_test.cc): by how much an electron's cross section
// for photons of all its energy is below that for the softest, and the strength of the K lines,
// which makes them 4 % of the photons of 100 kV behind 3.4 mm of aluminium.
constexpr double kTipDecline = 0.2;
constexpr double kLineStrength = 0.0101;
constexpr double kLineExponent = 1.648;  // Tucker

// Thomson-Whiddington: an electron of T0 keV has T = sqrt(T0² - c·x) left at depth x (g/cm²). The
// constant c (keV² cm²/g) in tungsten as in Tucker's table, from T0 = 50 keV in steps of 25 and 50.
double WhiddingtonConstant(double kev) {
  constexpr std::array<std::pair<double, double>, 5> kTable{
      {{50, 5.4e5}, {75, 6.25e5}, {100, 7.0e5}, {150, 8.4e5}, {200, 10.0e5}}};
  size_t i = 1;
  while (i + 1 < kTable.size() && kev > kTable[i].first) ++i;
  const auto [x0, y0] = kTable[i - 1];
  const auto [x1, y1] = kTable[i];
  return y0 + (kev - x0) * (y1 - y0) / (x1 - x0);
}

// What an electron of T keV does on a g/cm² of its way: photons of E keV times E (the cross section
// goes with 1/β²), over the energy that it loses (keV cm²/g, Tucker's mass stopping power).
double RadiatedPerLoss(double e, double t) {
  const double total = t + kElectronRestKev;
  const double inverse_beta2 = total * total / (t * (t + 2 * kElectronRestKev));
  const double stopping = 2024.1 + 10361 * std::exp(-0.04695 * t);
  return (1 - kTipDecline * e / t) * inverse_beta2 / stopping;
}

struct Anode {
  double kv, sine, whiddington;

  // Of photons that are made at `depth` (g/cm²), those that leave the anode.
  double Escape(double attenuation, double depth) const {
    return std::exp(-attenuation * depth / sine);
  }

  // Photons per keV at e < kv, relative.
  double Continuum(double e) const {
    const double attenuation = CS_Total(kTungsten, e, nullptr);
    const double step = (kv - e) / kDepths;
    double sum = 0;
    for (int i = 0; i < kDepths; ++i) {
      const double t = e + (i + 0.5) * step;
      sum += RadiatedPerLoss(e, t) * Escape(attenuation, (kv * kv - t * t) / whiddington);
    }
    return sum * step / e;
  }

  // Photons of one line that is `rate` of all K lines. They are made down to where an electron has
  // the energy of the edge left, with the density 3/2·(1 - (x/R)²).
  double Line(double e, double rate, double edge) const {
    const double range = (kv * kv - edge * edge) / whiddington;
    const double attenuation = CS_Total(kTungsten, e, nullptr);
    double sum = 0;
    for (int i = 0; i < kDepths; ++i) {
      const double x = (i + 0.5) / kDepths;
      sum += 1.5 * (1 - x * x) * Escape(attenuation, x * range) / kDepths;
    }
    return kLineStrength * std::pow(kv / edge - 1, kLineExponent) * rate * sum;
  }
};

absl::Status CheckField(const char* name, double value, double least, double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tube.", name, " is ", value, "; legal is ", least, " to ", most));
}

}  // namespace

absl::Status ValidateTube(const Tube& tube) {
  ISO_RETURN_IF_ERROR(CheckField("kv", tube.kv, 40, 150));
  ISO_RETURN_IF_ERROR(CheckField("anode_angle_deg", tube.anode_angle_deg, 5, 45));
  ISO_RETURN_IF_ERROR(CheckField("aluminium_mm", tube.aluminium_mm, 1, 50));
  return CheckField("copper_mm", tube.copper_mm, 0, 10);
}

TubeOutput TungstenOutput(const Tube& tube, double take_off_deg) {
  const Anode anode{tube.kv, std::sin(DegreesToRadians(take_off_deg)),
                    WhiddingtonConstant(tube.kv)};
  TubeOutput output;
  for (double e = kLeastKev + 0.5; e < tube.kv; ++e) {
    output.kev.push_back(e);
    output.photons.push_back(anode.Continuum(e));
  }
  const double edge = EdgeEnergy(kTungsten, K_SHELL, nullptr);
  if (tube.kv > edge) {
    for (int line : {KL2_LINE, KL3_LINE, KM2_LINE, KM3_LINE, KN2_LINE, KN3_LINE}) {
      const double e = LineEnergy(kTungsten, line, nullptr);
      output.photons[static_cast<size_t>(e - kLeastKev)] +=
          anode.Line(e, RadRate(kTungsten, line, nullptr), edge);
    }
  }
  for (size_t i = 0; i < output.kev.size(); ++i) {
    const double e = output.kev[i];
    output.photons[i] *=
        std::exp(-LinearAttenuation(KnownMaterial("aluminium"), e) * tube.aluminium_mm -
                 LinearAttenuation(KnownMaterial("copper"), e) * tube.copper_mm);
  }
  return output;
}

absl::StatusOr<Spectrum> TungstenSpectrum(const Tube& tube) {
  ISO_RETURN_IF_ERROR(ValidateTube(tube));
  TubeOutput output = TungstenOutput(tube, tube.anode_angle_deg);
  return MakeSpectrum(std::move(output.kev), std::move(output.photons));
}

}  // namespace isocenter::physics
