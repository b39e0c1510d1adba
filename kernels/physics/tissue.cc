#include "kernels/physics/tissue.h"

#include <algorithm>

namespace isocenter::physics {
namespace {

constexpr double kDensestWater = 1.1;
constexpr double kLeastMetal = 5;  // cortical bone has 4.8 at 40 keV and less above

}  // namespace

std::vector<Material> TissueMaterials() {
  return {KnownMaterial("water"), KnownMaterial("bone"), KnownMaterial("titanium")};
}

TissueMap::TissueMap(double reference_kev, bool metal) : metal_(metal) {
  const double water = LinearAttenuation(KnownMaterial("water"), reference_kev);
  bone_ = LinearAttenuation(KnownMaterial("bone"), reference_kev) / water;
  titanium_ = LinearAttenuation(KnownMaterial("titanium"), reference_kev) / water;
}

std::array<double, kTissueMaterials> TissueMap::Of(double relative) const {
  if (metal_ && relative > kLeastMetal) return {0, 0, relative / titanium_};
  if (relative <= kDensestWater) return {relative, 0, 0};
  if (relative >= bone_) return {0, relative / bone_, 0};
  const double bone = (relative - kDensestWater) / (bone_ - kDensestWater);
  return {relative - bone * bone_, bone, 0};
}

TissueObject::TissueObject(const phantom::Phantom& object, double mu_water_per_mm,
                           const TissueMap& map) {
  for (int m = 0; m < kTissueMaterials; ++m) {
    volumes_[m] = object.Mapped([map, mu_water_per_mm, m](double attenuation) {
      return map.Of(attenuation / mu_water_per_mm)[m];
    });
  }
}

std::array<double, kTissueMaterials> TissueObject::PathsMm(Vec3 source, Vec3 direction) const {
  std::array<double, kTissueMaterials> paths;
  for (int m = 0; m < kTissueMaterials; ++m) {
    paths[m] = volumes_[m]->LineIntegral(source, direction);
  }
  return paths;
}

}  // namespace isocenter::physics
