#include "kernels/physics/material.h"

#include <xraylib/xraylib.h>

#include <algorithm>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::physics {
namespace {

constexpr int kIodine = 53;
constexpr double kPerCmToPerMm = 0.1;
constexpr double kIodineInContrastBlood = 15;  // mg/ml, as in a vessel that is filled from a vein

// Mass fractions and densities of tissues, water and air: Hubbell, Seltzer, NISTIR 5632 (1995),
// table 2, which has the tissues from ICRU Report 44 (1989). Densities of elements and of CsI:
// there, tables 1 and 2. Steel: nominal 316L after ASTM A240 without carbon, phosphorus and sulfur.
std::vector<Material> MakeMaterials() {
  std::vector<Material> all{
      {"water", 1.0, {{1, 0.111898}, {8, 0.888102}}},
      {"soft-tissue",
       1.06,
       {{1, 0.102},
        {6, 0.143},
        {7, 0.034},
        {8, 0.708},
        {11, 0.002},
        {15, 0.003},
        {16, 0.003},
        {17, 0.002},
        {19, 0.003}}},
      {"fat",
       0.95,
       {{1, 0.114}, {6, 0.598}, {7, 0.007}, {8, 0.278}, {11, 0.001}, {16, 0.001}, {17, 0.001}}},
      {"bone",
       1.92,
       {{1, 0.034},
        {6, 0.155},
        {7, 0.042},
        {8, 0.435},
        {11, 0.001},
        {12, 0.002},
        {15, 0.103},
        {16, 0.003},
        {20, 0.225}}},
      {"blood",
       1.06,
       {{1, 0.102},
        {6, 0.110},
        {7, 0.033},
        {8, 0.745},
        {11, 0.001},
        {15, 0.001},
        {16, 0.002},
        {17, 0.003},
        {19, 0.002},
        {26, 0.001}}},
      {"iodine", 4.93, {{kIodine, 1}}},
      {"aluminium", 2.699, {{13, 1}}},
      {"titanium", 4.54, {{22, 1}}},
      {"copper", 8.96, {{29, 1}}},
      {"steel",
       7.99,
       {{14, 0.010}, {24, 0.170}, {25, 0.020}, {26, 0.655}, {28, 0.120}, {42, 0.025}}},
      {"tungsten", 19.3, {{74, 1}}},
      {"gold", 19.32, {{79, 1}}},
      {"csi", 4.51, {{kIodine, 0.488451}, {55, 0.511549}}},
      {"air", 1.205e-3, {{6, 0.000124}, {7, 0.755268}, {8, 0.231781}, {18, 0.012827}}},
  };
  const auto blood =
      std::find_if(all.begin(), all.end(), [](const Material& m) { return m.name == "blood"; });
  Material contrast = WithIodine(*blood, kIodineInContrastBlood);
  contrast.name = "contrast-blood";
  all.insert(blood + 1, std::move(contrast));
  return all;
}

const std::vector<Material>& Materials() {
  static const auto& materials = *new std::vector<Material>(MakeMaterials());
  return materials;
}

double Mixed(const Material& material, double kev, double (*of_element)(int, double, xrl_error**)) {
  assert(kev >= kLeastKev && kev <= kMostKev);
  double sum = 0;
  for (const Material::Element& element : material.elements) {
    sum += element.mass_fraction * of_element(element.atomic_number, kev, nullptr);
  }
  return sum;
}

}  // namespace

std::vector<std::string> MaterialNames() {
  std::vector<std::string> names;
  for (const Material& material : Materials()) names.push_back(material.name);
  return names;
}

absl::StatusOr<Material> FindMaterial(absl::string_view name) {
  for (const Material& material : Materials()) {
    if (material.name == name) return material;
  }
  return absl::NotFoundError(absl::StrCat("material '", name, "' is unknown; there are ",
                                          absl::StrJoin(MaterialNames(), ", ")));
}

const Material& KnownMaterial(absl::string_view name) {
  const auto& all = Materials();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Material& m) { return m.name == name; });
  assert(found != all.end());
  return *found;
}

Material WithIodine(const Material& solvent, double mg_per_ml) {
  const double iodine = mg_per_ml / 1000;  // g/cm³
  Material mixture = solvent;
  mixture.density_g_per_cm3 += iodine;
  for (Material::Element& element : mixture.elements) {
    element.mass_fraction *= solvent.density_g_per_cm3 / mixture.density_g_per_cm3;
  }
  mixture.elements.push_back({kIodine, iodine / mixture.density_g_per_cm3});
  return mixture;
}

double MassAttenuation(const Material& material, double kev) {
  return Mixed(material, kev, CS_Total);
}

double MassPhotoAbsorption(const Material& material, double kev) {
  return Mixed(material, kev, CS_Photo);
}

ScatteringCoefficients LinearScattering(const Material& material, double kev) {
  const double density = kPerCmToPerMm * material.density_g_per_cm3;
  return {density * Mixed(material, kev, CS_Rayl), density * Mixed(material, kev, CS_Compt)};
}

double LinearAttenuation(const Material& material, double kev) {
  return kPerCmToPerMm * material.density_g_per_cm3 * MassAttenuation(material, kev);
}

}  // namespace isocenter::physics
