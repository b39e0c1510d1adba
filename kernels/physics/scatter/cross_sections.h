// How photons interact with the materials of an object.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/phantom/generator.h"
#include "kernels/phantom/lattice_walk.h"
#include "kernels/physics/material.h"
#include "kernels/physics/scatter/photon_tables.h"
#include "kernels/physics/tissue.h"

namespace isocenter::physics {

/// A number for each material; the lanes behind the last one are 0.
using ByMaterial = phantom::Float4;
inline constexpr int kLanes = 4;
static_assert(kTissueMaterials <= kLanes);

inline double SumOf(ByMaterial x) { return x[0] + x[1] + x[2] + x[3]; }

/// The same numbers without the vector type.
inline std::span<const float> LaneSpan(const std::vector<ByMaterial>& table) {
  return {reinterpret_cast<const float*>(table.data()), table.size() * kLanes};
}

/// Energy of a photon of `kev` after Compton scattering by an angle with this cosine: the electron
/// is free and at rest.
double ComptonKev(double kev, double cosine);

/// Photoelectric effect, Compton scattering after Klein and Nishina (Z. Phys. 52 (1929) 853) times
/// the incoherent scattering function, and Rayleigh scattering with form factors, from xraylib and
/// added by mass fraction as of free atoms: that molecules and crystals interfere is not modelled,
/// nor are electrons that move (Doppler), polarisation and fluorescence. Total cross sections are
/// those of `Beam`; the angles' distributions are normalised to them. Energies between kLeastKev
/// and kMostKev. Thread-safe.
class CrossSections {
 public:
  /// Up to kLanes materials at their own density.
  explicit CrossSections(std::span<const Material> materials);

  /// Linear coefficients (1/mm) of all interactions, and of the two that scatter.
  ByMaterial Total(double kev) const { return Interpolated(total_, kev); }
  ByMaterial Coherent(double kev) const { return Interpolated(coherent_, kev); }
  ByMaterial Incoherent(double kev) const { return Interpolated(incoherent_, kev); }

  /// Those of scattering into a direction at an angle with this cosine (1/mm/sr).
  struct Differential {
    ByMaterial coherent, incoherent;
  };
  Differential Towards(double kev, double cosine) const;

  /// Draws the cosine of the angle that one material scatters by.
  double DrawCoherent(int material, double kev, phantom::Generator& draws) const;
  double DrawIncoherent(int material, double kev, phantom::Generator& draws) const;

  /// They stay as long as this.
  SectionTables Tables() const;

  /// Tables over the energy have this step (keV), from kLeastKev on.
  static constexpr double kStepKev = 0.5;
  static constexpr int kEnergies = static_cast<int>((kMostKev - kLeastKev) / kStepKev) + 1;

  /// A table over the energy, linear in between.
  template <typename T>
  static T Interpolated(const std::vector<T>& table, double kev) {
    const double position = (kev - kLeastKev) / kStepKev;
    const int i = std::clamp(static_cast<int>(position), 0, kEnergies - 2);
    const T fraction = T{} + static_cast<float>(position - i);
    return table[i] + fraction * (table[i + 1] - table[i]);
  }

 private:
  void AddMaterial(int lane, const Material& material);
  void Normalise(int lane, const Material& material);

  // Over the energy.
  std::vector<ByMaterial> total_, coherent_, incoherent_;
  std::vector<ByMaterial> coherent_scale_, incoherent_scale_;  // of Towards
  // Over the momentum transfer x = sin(θ/2)/λ: Σ of mass fraction / atomic weight times F² and S.
  std::vector<ByMaterial> form_factors_, incoherent_functions_;
  std::array<std::vector<double>, kLanes> form_factor_integral_;  // ∫ F² d(x²)
};

}  // namespace isocenter::physics
