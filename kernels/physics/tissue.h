// Which materials a phantom's numbers stand for.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kernels/phantom/phantom.h"
#include "kernels/physics/material.h"

namespace isocenter::physics {

/// Water, cortical bone and titanium of any density, in this order.
inline constexpr int kTissueMaterials = 3;
std::vector<Material> TissueMaterials();

/// How a number, an attenuation relative to water's, is made of them so that the attenuation at
/// one energy is that number: a phantom's HU are the truth at that energy.
/// - up to 1.1 (100 HU): water of that density; air is none, fat is light water;
/// - from there to cortical bone's own number: less and less water of 1.1, more and more bone;
/// - above that: denser bone;
/// - above 5, where `metal` is true: titanium of the density that gives the number. It is false for
///   measured volumes, where teeth and the edges of metal would become titanium.
class TissueMap {
 public:
  TissueMap(double reference_kev, bool metal);

  /// Volumes of the materials at their own density in one volume.
  std::array<double, kTissueMaterials> Of(double relative) const;

 private:
  double bone_, titanium_;  // their numbers
  bool metal_;
};

/// An object as paths in each of the TissueMaterials. Thread-safe.
class TissueObject {
 public:
  /// `object` has attenuations relative to water's times `mu_water_per_mm`. Analytic phantoms keep
  /// their exact chords; of a voxel phantom the values at the centres are mapped. Memory: three
  /// times the object's.
  TissueObject(const phantom::Phantom& object, double mu_water_per_mm, const TissueMap& map);

  /// Millimetres of each material at its own density on the half-line from `source` in `direction`
  /// (unit vector).
  std::array<double, kTissueMaterials> PathsMm(Vec3 source, Vec3 direction) const;

 private:
  std::array<std::unique_ptr<phantom::Phantom>, kTissueMaterials> volumes_;
};

}  // namespace isocenter::physics
