#include "kernels/scatter/cross_sections.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernels/base/units.h"

namespace isocenter::scatter {
namespace {

constexpr double kKevAngstrom = 12.398;  // h·c
constexpr double kThomsonPerMole =
    0.04782;  // Avogadro's number times the electron's radius squared, cm²
constexpr double kTransferStep = 0.01;  // 1/Å
constexpr int kTransfers = static_cast<int>(kMostKev / kKevAngstrom / kTransferStep) + 3;
// Form factors were fitted up to here; beyond, electrons of the K shell are left, whose orbital is
// that of hydrogen with the nucleus' charge less 0.3: f = 1 / (1 + (2π·a·x / charge)²)², a Bohr's
// radius.
constexpr double kMostFitted = 2;
constexpr double kBohrRadius = 0.529177;  // Å
constexpr double kScreening = 0.3;

/// Form factors: Cromer, Mann (1968) as in International Tables for Crystallography C (1992), table
/// 6.1.1.4: Σ a·exp(-b·x²) + c. Incoherent functions: Balyuzi, Acta Cryst. A31 (1975) 600: Z - Σ
/// p·exp(-q·x²); where that is not known here, Z - f²/Z.
struct Element {
  double mass, number;  // atomic
  double a[4], b[4], c;
  double p[5], q[5];
};

constexpr Element kHydrogen = {1.008,
                               1,
                               {0.489918, 0.262003, 0.196767, 0.049879},
                               {20.6593, 7.74039, 49.5519, 2.20159},
                               0.001305,
                               {0.2623, 0.5094, 0.2034, 0.0249, 0},
                               {32.3717, 14.7084, 6.6884, 2.4843, 0}};
constexpr Element kCarbon = {12.011,
                             6,
                             {2.31, 1.02, 1.5886, 0.865},
                             {20.8439, 10.2075, 0.5687, 51.6512},
                             0.2156,
                             {0.7568, 2.5511, 0.7051, 1.4605, 0.5263},
                             {82.2385, 31.7282, 11.9471, 1.4637, 0.5150}};
constexpr Element kNitrogen = {14.007,
                               7,
                               {12.2126, 3.1322, 2.0125, 1.1663},
                               {0.0057, 9.8933, 28.9975, 0.5826},
                               -11.529,
                               {0.9070, 2.8972, 1.1659, 1.5526, 0.4769},
                               {64.1555, 20.8507, 7.7576, 1.0335, 0.3516}};
constexpr Element kOxygen = {15.999,
                             8,
                             {3.0485, 2.2868, 1.5463, 0.867},
                             {13.2771, 5.7011, 0.3239, 32.9089},
                             0.2508,
                             {0.8847, 3.2189, 1.7990, 1.5538, 0.5434},
                             {52.0063, 16.4487, 6.5958, 0.8143, 0.2815}};
constexpr Element kPhosphorus = {
    30.974, 15, {6.4345, 4.1791, 1.78, 1.4908}, {1.9067, 27.157, 0.526, 68.1645}, 1.1149, {}, {}};
constexpr Element kCalcium = {
    40.078, 20, {8.6266, 7.3873, 1.5899, 1.0211}, {10.4421, 0.6599, 85.7484, 178.437}, 1.3751,
    {},     {}};

struct Part {
  const Element& element;
  double by_mass;
};
constexpr Part kInWater[] = {{kHydrogen, 0.1119}, {kOxygen, 0.8881}};
// Cortical bone of ICRU Report 44; its 0.6 % of sodium, magnesium and sulphur count as phosphorus.
constexpr Part kInBone[] = {{kHydrogen, 0.034}, {kCarbon, 0.155},     {kNitrogen, 0.042},
                            {kOxygen, 0.435},   {kPhosphorus, 0.109}, {kCalcium, 0.225}};

/// Mass attenuation with coherent scattering (cm²/g): Hubbell, Seltzer, NISTIR 5632, of water and
/// of cortical bone.
struct Attenuation {
  double kev;
  PerTissue total;
};
constexpr Attenuation kAttenuation[] = {
    {15, {1.673, 9.032}},   {20, {0.8096, 4.001}},   {30, {0.3756, 1.331}},
    {40, {0.2683, 0.6655}}, {50, {0.2269, 0.4242}},  {60, {0.2059, 0.3148}},
    {80, {0.1837, 0.2229}}, {100, {0.1707, 0.1855}}, {150, {0.1505, 0.1480}}};

double FormFactor(const Element& e, double x) {
  const double within = std::min(x, kMostFitted);
  double f = e.c;
  for (int i = 0; i < 4; ++i) f += e.a[i] * std::exp(-e.b[i] * within * within);
  const double per_transfer = 2 * kPi * kBohrRadius / std::max(e.number - kScreening, 1.0);
  const auto falls = [per_transfer](double at) { return 1 + std::pow(per_transfer * at, 2); };
  return std::max(0.0, f) * std::pow(falls(within) / falls(x), 2);
}

double IncoherentFunction(const Element& e, double x) {
  if (e.p[0] == 0) {
    const double f = FormFactor(e, x);
    return std::max(0.0, e.number - f * f / e.number);
  }
  double s = e.number;
  for (int i = 0; i < 5; ++i) s -= e.p[i] * std::exp(-e.q[i] * x * x);
  return std::max(0.0, s);
}

double KleinNishina(double kev, double cosine) {
  const double ratio = ComptonKev(kev, cosine) / kev;
  return 0.5 * ratio * ratio * (ratio + 1 / ratio - (1 - cosine * cosine));
}

double InterpolatedTotal(double kev, int tissue) {
  const auto* above =
      std::upper_bound(std::begin(kAttenuation) + 1, std::end(kAttenuation) - 1, kev,
                       [](double value, const Attenuation& entry) { return value < entry.kev; });
  const auto* below = above - 1;
  const double share = std::log(kev / below->kev) / std::log(above->kev / below->kev);
  return below->total[tissue] * std::pow(above->total[tissue] / below->total[tissue], share);
}

double Transfer(double kev, double half_sine) { return kev / kKevAngstrom * half_sine; }

}  // namespace

CrossSections::CrossSections() {
  TabulateFactors();
  total_.resize(kEnergies);
  coherent_.resize(kEnergies);
  incoherent_.resize(kEnergies);
  for (int tissue = 0; tissue < kTissues; ++tissue) {
    coherent_angles_[tissue].resize(kEnergies);
    incoherent_angles_[tissue].resize(kEnergies);
  }
  for (int energy = 0; energy < kEnergies; ++energy) TabulateAngles(energy);
}

void CrossSections::TabulateFactors() {
  form_factors_.assign(kTransfers, {});
  incoherent_functions_.assign(kTransfers, {});
  for (int i = 0; i < kTransfers; ++i) {
    const double x = i * kTransferStep;
    const auto add = [&](const Part& part, Tissue tissue) {
      const double moles = part.by_mass / part.element.mass;
      const double f = FormFactor(part.element, x);
      form_factors_[i][tissue] += moles * f * f;
      incoherent_functions_[i][tissue] += moles * IncoherentFunction(part.element, x);
    };
    for (const Part& part : kInWater) add(part, kWater);
    for (const Part& part : kInBone) add(part, kBone);
  }
}

// Integrals over the angle by the midpoint rule, in the root r of h = sin(angle / 2), as Rayleigh
// scattering is a narrow peak: 8π·h·dh of the sphere, dh = 2r·dr.
void CrossSections::TabulateAngles(int energy) {
  const double kev = kLeastKev + energy * kStepKev;
  PerTissue coherent{}, incoherent{};
  for (int tissue = 0; tissue < kTissues; ++tissue) {
    coherent_angles_[tissue][energy][0] = incoherent_angles_[tissue][energy][0] = 0;
  }
  for (int i = 0; i < kAngles; ++i) {
    const double r = (i + 0.5) / kAngles, h = r * r, sphere = 8 * kPi * h * 2 * r / kAngles;
    const Differential d = Towards(kev, 1 - 2 * h * h);
    for (int tissue = 0; tissue < kTissues; ++tissue) {
      coherent[tissue] += sphere * d.coherent[tissue];
      incoherent[tissue] += sphere * d.incoherent[tissue];
      coherent_angles_[tissue][energy][i + 1] = static_cast<float>(coherent[tissue]);
      incoherent_angles_[tissue][energy][i + 1] = static_cast<float>(incoherent[tissue]);
    }
  }
  coherent_[energy] = coherent;
  incoherent_[energy] = incoherent;
  for (int tissue = 0; tissue < kTissues; ++tissue) {
    // Scattering cannot be more than all there is, however tables and fits disagree.
    total_[energy][tissue] =
        std::max(InterpolatedTotal(kev, tissue), coherent[tissue] + incoherent[tissue]);
    for (auto* angles : {&coherent_angles_[tissue][energy], &incoherent_angles_[tissue][energy]}) {
      const float all = angles->back();
      for (float& value : *angles) value /= all;
    }
  }
}

PerTissue CrossSections::At(const ByEnergy& table, double kev) {
  const double position = std::clamp((kev - kLeastKev) / kStepKev, 0.0, kEnergies - 1.0);
  const int i = std::min(static_cast<int>(position), kEnergies - 2);
  const double share = position - i;
  return {table[i][0] + share * (table[i + 1][0] - table[i][0]),
          table[i][1] + share * (table[i + 1][1] - table[i][1])};
}

PerTissue CrossSections::AtTransfer(const std::vector<PerTissue>& table, double transfer) const {
  const double position = transfer / kTransferStep;
  const int i = std::min(static_cast<int>(position), kTransfers - 2);
  const double share = position - i;
  return {table[i][0] + share * (table[i + 1][0] - table[i][0]),
          table[i][1] + share * (table[i + 1][1] - table[i][1])};
}

CrossSections::Differential CrossSections::Towards(double kev, double cosine) const {
  const double x = Transfer(kev, std::sqrt(std::max(0.0, (1 - cosine) / 2)));
  const double thomson = kThomsonPerMole * (1 + cosine * cosine) / 2;
  const double compton = kThomsonPerMole * KleinNishina(kev, cosine);
  const PerTissue f = AtTransfer(form_factors_, x), s = AtTransfer(incoherent_functions_, x);
  return {{thomson * f[0], thomson * f[1]}, {compton * s[0], compton * s[1]}};
}

// `a` chooses between the tables of two energies, so that their mean is interpolated.
double CrossSections::Draw(const Angles& angles, double kev, double a, double b) {
  const double position = std::clamp((kev - kLeastKev) / kStepKev, 0.0, kEnergies - 1.0);
  const auto energy = std::min(static_cast<int>(position + a), kEnergies - 1);
  const auto& cumulated = angles[energy];
  const auto above = std::upper_bound(cumulated.begin() + 1, cumulated.end() - 1, b);
  const double low = *(above - 1), high = *above;
  const double share = high > low ? (b - low) / (high - low) : 0.5;
  const double r = (static_cast<double>(above - 1 - cumulated.begin()) + share) / kAngles;
  const double h = r * r;
  return std::max(-1.0, 1 - 2 * h * h);
}

}  // namespace isocenter::scatter
