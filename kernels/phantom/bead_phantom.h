// A plexiglass tube with steel balls in its wall.
#pragma once

#include <memory>

#include "kernels/geometry/phantom_tables/bead_table.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {

/// Attenuations relative to water's: PMMA, and steel at about 60 keV.
inline constexpr double kPlexiglassDensity = 1.1, kSteelDensity = 40;

/// The balls of a legal table (CheckBeadTable) in the wall of a tube about z that holds them all
/// with 3 mm to spare at each side and 10 mm at each end. Exact chords: a ray costs the logarithm
/// of the number of balls.
std::unique_ptr<Phantom> MakeBeadPhantom(const BeadTable& table, double mu_water_per_mm);

}  // namespace isocenter::phantom
