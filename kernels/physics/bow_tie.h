// A filter between tube and object that is thicker for some rays of the fan than for others.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/physics/material.h"
#include "kernels/physics/spectrum.h"

namespace isocenter::physics {

/// The profile of a bow-tie: it is the same along the rotation axis.
struct BowTieProfile {
  struct Point {
    double fan_deg = 0;  // from the detector's normal towards larger columns; -60 to 60, ascending
    double mm = 0;       // a ray of the orbit's plane has so much of it in its way; 0 to 300
  };
  std::string material;       // a name of FindMaterial
  std::vector<Point> points;  // 2 to 1000; linear in between, constant beyond
  /// An arm that gives way: from a source at the angle θ about z the filter is seen sway_deg·sin θ
  /// further along the fan. -5 to 5.
  double sway_deg = 0;
};

class BowTie {
 public:
  /// Errors: INVALID_ARGUMENT with the field, its value and what is legal.
  static absl::StatusOr<BowTie> Make(BowTieProfile profile);

  const Material& material() const { return material_; }
  bool sways() const { return profile_.sway_deg != 0; }
  /// What the middle of the fan has of it where nothing sways (mm): it is part of the beam that
  /// readings relate to.
  double middle_mm() const { return AtMm(0); }
  /// A spectrum of so many photons behind the filter's middle, not normalised.
  void FilterByMiddle(const std::vector<double>& kev, std::vector<double>& photons) const;

  /// Along the fan (radians), in the orbit's plane.
  double AtMm(double fan) const;
  /// What a ray of `camera` in `direction` (unit vector) has more of it than the middle (mm): less
  /// than 0 where it is thinner. Rays that leave the orbit's plane pass it at a slant.
  double BeyondMiddleMm(const Camera& camera, Vec3 direction) const;

 private:
  BowTie(BowTieProfile profile, Material material)
      : profile_(std::move(profile)), material_(std::move(material)) {}

  BowTieProfile profile_;
  Material material_;
};

}  // namespace isocenter::physics
