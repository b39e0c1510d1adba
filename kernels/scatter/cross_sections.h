// How photons interact with water and with bone, as a correction knows it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace isocenter::scatter {

enum Tissue : uint8_t { kWater, kBone };
inline constexpr int kTissues = 2;
using PerTissue = std::array<double, kTissues>;

inline double Dot(const PerTissue& a, const PerTissue& b) { return a[0] * b[0] + a[1] * b[1]; }

inline constexpr double kLeastKev = 15, kMostKev = 150;

/// Energy of a photon of `kev` that an electron at rest has scattered by an angle with this cosine.
inline double ComptonKev(double kev, double cosine) { return kev / (1 + kev / 511 * (1 - cosine)); }

/// Total attenuation from tables; Compton scattering after Klein and Nishina with incoherent
/// functions, Rayleigh scattering with form factors, both of free atoms, from analytic fits that
/// other rooms have nothing of. Energies are held within kLeastKev to kMostKev. Thread-safe.
class CrossSections {
 public:
  CrossSections();

  /// cm²/g.
  PerTissue Total(double kev) const { return At(total_, kev); }
  PerTissue Coherent(double kev) const { return At(coherent_, kev); }
  PerTissue Incoherent(double kev) const { return At(incoherent_, kev); }

  /// Into a direction at an angle with this cosine (cm²/g/sr).
  struct Differential {
    PerTissue coherent, incoherent;
  };
  Differential Towards(double kev, double cosine) const;

  /// The cosine of an angle that photons are scattered by, from two numbers in [0, 1).
  double DrawCoherent(Tissue tissue, double kev, double a, double b) const {
    return Draw(coherent_angles_[tissue], kev, a, b);
  }
  double DrawIncoherent(Tissue tissue, double kev, double a, double b) const {
    return Draw(incoherent_angles_[tissue], kev, a, b);
  }

 private:
  static constexpr double kStepKev = 1;
  static constexpr int kEnergies = static_cast<int>((kMostKev - kLeastKev) / kStepKev) + 1;
  static constexpr int kAngles = 256;  // equal steps of the root of sin(angle / 2)
  using ByEnergy = std::vector<PerTissue>;
  using Angles = std::vector<std::array<float, kAngles + 1>>;  // cumulated, by energy

  static PerTissue At(const ByEnergy& table, double kev);
  static double Draw(const Angles& angles, double kev, double a, double b);
  PerTissue AtTransfer(const std::vector<PerTissue>& table, double transfer) const;
  void TabulateFactors();
  void TabulateAngles(int energy);

  ByEnergy total_, coherent_, incoherent_;
  // Over the momentum transfer sin(angle / 2) / wavelength: per gram and mole.
  std::vector<PerTissue> form_factors_, incoherent_functions_;
  std::array<Angles, kTissues> coherent_angles_, incoherent_angles_;
};

}  // namespace isocenter::scatter
