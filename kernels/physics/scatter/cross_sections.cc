#include "kernels/physics/scatter/cross_sections.h"

#include <xraylib/xraylib.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/base/units.h"

namespace isocenter::physics {
namespace {

constexpr double kElectronRestKev = 511;
constexpr double kKevAngstrom = 12.39842;  // h·c
constexpr double kStep = 0.01;             // of the momentum transfer, 1/Å
constexpr int kTransfers = static_cast<int>(kMostKev / kKevAngstrom / kStep) + 3;
constexpr int kAngles = 2000;  // of the midpoint rule that normalises

double Transfer(double kev, double cosine) {
  return kev / kKevAngstrom * std::sqrt(std::max(0.0, (1 - cosine) / 2));
}

// Klein-Nishina over its value straight ahead, which is the largest.
double KleinNishina(double kev, double cosine) {
  const double p = 1 / (1 + kev / kElectronRestKev * (1 - cosine));
  return p * p * (p + 1 / p - 1 + cosine * cosine) / 2;
}

double Thomson(double cosine) { return (1 + cosine * cosine) / 2; }

ByMaterial AtTransfer(const std::vector<ByMaterial>& table, double transfer) {
  const double position = transfer / kStep;
  const int i = std::min(static_cast<int>(position), kTransfers - 2);
  const ByMaterial fraction = phantom::Broadcast(static_cast<float>(position - i));
  return table[i] + fraction * (table[i + 1] - table[i]);
}

double KevOf(int energy) { return kLeastKev + energy * CrossSections::kStepKev; }

}  // namespace

double ComptonKev(double kev, double cosine) {
  return kev / (1 + kev / kElectronRestKev * (1 - cosine));
}

CrossSections::CrossSections(std::span<const Material> materials) {
  assert(materials.size() <= kLanes);
  for (auto* table : {&total_, &coherent_, &incoherent_, &coherent_scale_, &incoherent_scale_}) {
    table->resize(kEnergies);
  }
  form_factors_.resize(kTransfers);
  incoherent_functions_.resize(kTransfers);
  for (size_t lane = 0; lane < materials.size(); ++lane) {
    AddMaterial(static_cast<int>(lane), materials[lane]);
    Normalise(static_cast<int>(lane), materials[lane]);
  }
}

void CrossSections::AddMaterial(int lane, const Material& material) {
  std::vector<double>& integral = form_factor_integral_[lane];
  integral.assign(kTransfers, 0);
  for (int i = 0; i < kTransfers; ++i) {
    const double x = i * kStep;
    double coherent = 0, incoherent = 0;
    for (const Material::Element& element : material.elements) {
      const double atoms = element.mass_fraction / AtomicWeight(element.atomic_number, nullptr);
      const double form_factor = FF_Rayl(element.atomic_number, x, nullptr);
      coherent += atoms * form_factor * form_factor;
      if (i > 0) incoherent += atoms * SF_Compt(element.atomic_number, x, nullptr);
    }
    form_factors_[i][lane] = static_cast<float>(coherent);
    incoherent_functions_[i][lane] = static_cast<float>(incoherent);
    if (i > 0) {
      const double before = x - kStep, mean = (coherent + form_factors_[i - 1][lane]) / 2;
      integral[i] = integral[i - 1] + mean * (x * x - before * before);
    }
  }
}

SectionTables CrossSections::Tables() const {
  SectionTables tables{.least_kev = kLeastKev,
                       .step_kev = kStepKev,
                       .total = LaneSpan(total_),
                       .coherent = LaneSpan(coherent_),
                       .incoherent = LaneSpan(incoherent_),
                       .coherent_scale = LaneSpan(coherent_scale_),
                       .incoherent_scale = LaneSpan(incoherent_scale_),
                       .transfer_step = kStep,
                       .form_factors = LaneSpan(form_factors_),
                       .incoherent_functions = LaneSpan(incoherent_functions_)};
  for (int m = 0; m < kLanes; ++m) tables.form_factor_integrals[m] = form_factor_integral_[m];
  return tables;
}

// What the tables of factors integrate to becomes the coefficient that the material has.
void CrossSections::Normalise(int lane, const Material& material) {
  for (int e = 0; e < kEnergies; ++e) {
    const double kev = KevOf(e);
    double coherent = 0, incoherent = 0;
    for (int i = 0; i < kAngles; ++i) {
      const double s = (i + 0.5) / kAngles;  // sin(θ/2)
      const double cosine = 1 - 2 * s * s, solid_angle = 8 * kPi * s / kAngles;
      const double x = Transfer(kev, cosine);
      coherent += solid_angle * Thomson(cosine) * AtTransfer(form_factors_, x)[lane];
      incoherent +=
          solid_angle * KleinNishina(kev, cosine) * AtTransfer(incoherent_functions_, x)[lane];
    }
    const ScatteringCoefficients scattering = LinearScattering(material, kev);
    total_[e][lane] = static_cast<float>(LinearAttenuation(material, kev));
    coherent_[e][lane] = static_cast<float>(scattering.coherent);
    incoherent_[e][lane] = static_cast<float>(scattering.incoherent);
    coherent_scale_[e][lane] = static_cast<float>(scattering.coherent / coherent);
    incoherent_scale_[e][lane] = static_cast<float>(scattering.incoherent / incoherent);
  }
}

CrossSections::Differential CrossSections::Towards(double kev, double cosine) const {
  const double x = Transfer(kev, cosine);
  const ByMaterial thomson = phantom::Broadcast(static_cast<float>(Thomson(cosine)));
  const ByMaterial klein_nishina =
      phantom::Broadcast(static_cast<float>(KleinNishina(kev, cosine)));
  return {
      Interpolated(coherent_scale_, kev) * thomson * AtTransfer(form_factors_, x),
      Interpolated(incoherent_scale_, kev) * klein_nishina * AtTransfer(incoherent_functions_, x)};
}

// x² after the form factors, then the rest of the distribution by rejection.
double CrossSections::DrawCoherent(int material, double kev, phantom::Generator& draws) const {
  const std::vector<double>& integral = form_factor_integral_[material];
  const double most_x = kev / kKevAngstrom;
  const double position = most_x / kStep;
  const int last = static_cast<int>(position);
  const double most = integral[last] + (position - last) * (integral[last + 1] - integral[last]);
  while (true) {
    const double drawn = most * draws.Uniform();
    const auto above = std::upper_bound(integral.begin() + 1, integral.begin() + last + 1, drawn);
    const auto i = above - integral.begin();
    const double low = (i - 1) * kStep, high = i * kStep;
    const double square = low * low + (high * high - low * low) * (drawn - integral[i - 1]) /
                                          (integral[i] - integral[i - 1]);
    const double cosine = std::max(-1.0, 1 - 2 * square / (most_x * most_x));
    if (draws.Uniform() < Thomson(cosine)) return cosine;
  }
}

double CrossSections::DrawIncoherent(int material, double kev, phantom::Generator& draws) const {
  const double most = incoherent_functions_.back()[material];  // it only grows with x
  while (true) {
    const double cosine = 2 * draws.Uniform() - 1;
    const double function = AtTransfer(incoherent_functions_, Transfer(kev, cosine))[material];
    if (most * draws.Uniform() < KleinNishina(kev, cosine) * function) return cosine;
  }
}

}  // namespace isocenter::physics
