// What photons are followed with, as plain arrays: for devices that have memory of their own.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/geometry/vec3.h"

namespace isocenter::physics {

/// A box of cells with the volumes of four materials in one volume, [z][y][x][material], with a
/// layer of empty cells around.
struct CellTable {
  Vec3 low;                          // the box's corner, mm
  std::array<double, 3> cell_mm{};   // x, y, z
  std::array<int, 3> counts{};       // without the layer
  std::array<int64_t, 3> strides{};  // in cells
  std::span<const float> amounts;
};

/// Tables over the energy and over the momentum transfer x = sin(θ/2)/λ, linear in between; four
/// numbers, one for each material, at each place unless said otherwise.
struct SectionTables {
  double least_kev = 0, step_kev = 0;  // energies begin at one and have steps of the other
  std::span<const float> total, coherent, incoherent;       // linear coefficients, 1/mm
  std::span<const float> coherent_scale, incoherent_scale;  // 1/mm/sr, over Thomson's, Klein's
  double transfer_step = 0;                                 // 1/Å, from 0 on
  std::span<const float> form_factors, incoherent_functions;
  std::array<std::span<const double>, 4> form_factor_integrals;  // ∫ F² d(x²), by material
};

/// All of them are owned by who hands them out.
struct PhotonTables {
  CellTable cells;
  SectionTables sections;
  std::span<const double> kev, cumulative;  // of the spectrum
  std::span<const float> most, signal;      // over the energy: of any cell; of a photon
};

}  // namespace isocenter::physics
