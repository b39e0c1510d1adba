// What X-rays go through: attenuation by energy.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::physics {

/// Energies that every material is known for (keV).
inline constexpr double kLeastKev = 5;
inline constexpr double kMostKev = 160;

/// A mixture of elements. The cross sections are xraylib's (Schoonjans et al., Spectrochim. Acta B
/// 66 (2011) 776), added by mass fraction: photoelectric effect, coherent and incoherent
/// scattering.
struct Material {
  struct Element {
    int atomic_number = 0;
    double mass_fraction = 0;
  };
  std::string name;
  double density_g_per_cm3 = 0;
  std::vector<Element> elements;
};

/// The materials by name; what each is made of, and after whom, is in material.cc:
/// "water", "soft-tissue", "fat", "bone" (cortical), "blood", "contrast-blood" (blood with 15 mg of
/// iodine in each ml), "iodine", "aluminium", "titanium", "copper", "steel" (316L), "tungsten",
/// "gold", "csi" (caesium iodide), "air". Errors: NOT_FOUND (listing the names).
absl::StatusOr<Material> FindMaterial(absl::string_view name);
std::vector<std::string> MaterialNames();

/// Those that the physics itself asks for; `name` is one of the above.
const Material& KnownMaterial(absl::string_view name);

/// `solvent` with `mg_per_ml` of iodine added to each ml of it; the volume stays. mg_per_ml >= 0.
Material WithIodine(const Material& solvent, double mg_per_ml);

/// Mass attenuation coefficient with coherent scattering (cm²/g) at kLeastKev to kMostKev.
double MassAttenuation(const Material& material, double kev);
/// Its photoelectric part.
double MassPhotoAbsorption(const Material& material, double kev);

/// Linear coefficients of scattering (1/mm) at kLeastKev to kMostKev.
struct ScatteringCoefficients {
  double coherent = 0, incoherent = 0;
};
ScatteringCoefficients LinearScattering(const Material& material, double kev);

/// Linear attenuation coefficient (1/mm) at kLeastKev to kMostKev.
double LinearAttenuation(const Material& material, double kev);

}  // namespace isocenter::physics
