// An object as cells of water and bone.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/geometry/vec3.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/scatter/cross_sections.h"

namespace isocenter::scatter {

/// Cells of a grid along the world's axes, each with its g/cm³ of water and of bone. Thread-safe.
class Object {
 public:
  using Cell = std::array<float, kTissues>;

  /// `cells` are [z][y][x]; the grid's direction is the identity.
  Object(const VolumeGrid& grid, std::vector<Cell> cells);

  bool empty() const { return empty_; }
  PerTissue At(Vec3 point) const;
  /// g/cm² on the half-line from `origin`, a unit vector on.
  PerTissue Along(Vec3 origin, Vec3 direction) const;
  /// Millimetres from `origin` to where an attenuation (cm²/g of each) has added up to `depth`;
  /// infinite where it never does.
  double DistanceTo(Vec3 origin, Vec3 direction, const PerTissue& attenuation, double depth) const;

 private:
  /// Calls piece(begin, end, cell) for the cells on a half-line, millimetres from its origin, until
  /// that says false.
  template <typename Piece>
  void Walk(Vec3 origin, Vec3 direction, const Piece& piece) const;

  std::array<int, 3> counts_;
  std::array<double, 3> low_, spacing_;
  std::vector<Cell> cells_;
  bool empty_ = true;
};

}  // namespace isocenter::scatter
