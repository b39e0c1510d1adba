// An object as coarse cells of materials, for photons to wander in.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/base/thread_pool.h"
#include "kernels/phantom/phantom.h"
#include "kernels/physics/scatter/cross_sections.h"
#include "kernels/physics/scatter/photon_tables.h"
#include "kernels/physics/tissue.h"

namespace isocenter::physics {

/// Part of a half-line inside the volume, in millimetres from its origin; empty when end <= begin.
struct Inside {
  double begin = 0, end = 0;
};

/// The box of a phantom in cells, of which the longest edge has kMostCells and the others as many
/// as make the cells about cubes. A cell has the mean of the phantom's materials at 2 x 2 x 2
/// points. Memory: 16 bytes for each cell. Thread-safe.
class ScatterVolume {
 public:
  static constexpr int kMostCells = 96;

  /// `object` has attenuations relative to water's times `mu_water_per_mm`, as in TissueObject.
  ScatterVolume(const phantom::Phantom& object, double mu_water_per_mm, const TissueMap& map,
                ThreadPool& pool);

  Inside Clip(Vec3 origin, Vec3 direction) const;

  /// Volumes of the materials in one volume at a point inside.
  ByMaterial At(Vec3 point) const;

  /// Millimetres of each material at its own density on the half-line from a point inside.
  ByMaterial PathsMm(Vec3 origin, Vec3 direction) const;

  /// No cell's Σ of materials times `coefficients`, one for each material and not negative, is
  /// more: the largest, up to 1/64 of each coefficient above it.
  double Most(ByMaterial coefficients) const;

  /// It stays as long as the volume.
  CellTable Table() const;

  /// Of the box and the cells.
  uint32_t Checksum() const;

 private:
  std::array<double, 3> ToCells(Vec3 point) const;
  int64_t Offset(int64_t i, int64_t j, int64_t k) const {
    return (i + 1) * strides_[0] + (j + 1) * strides_[1] + (k + 1) * strides_[2];
  }
  void FillLayer(const phantom::Phantom& object, double mu_water_per_mm, const TissueMap& map,
                 int k);
  void FindExtremes();

  phantom::Box box_;
  std::array<int, 3> counts_;
  std::array<double, 3> cell_mm_;
  std::array<int64_t, 3> strides_;
  std::vector<ByMaterial> cells_;     // with a layer of nothing around
  std::vector<ByMaterial> extremes_;  // each cell has at most as much of all as one of these
};

}  // namespace isocenter::physics
