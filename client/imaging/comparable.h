// Whether two volumes can be compared at all: what their grids and their numbers say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/geometry/volume_grid.h"

namespace isocenter::imaging {

/// Why numbers are hardly Hounsfield units, as a sentence that begins with `name`; empty where they
/// may be. A volume of a body in air holds about -1000 and spans hundreds; attenuation in 1/mm or
/// 1/cm and line integrals stay between -1 and 20, counts of a detector between 0 and 65535 without
/// anything below 0. `values`: finite.
std::string DoubtfulHounsfield(const std::string& name, std::span<const float> values);

/// What differs between the grids of `volume` and `truth` so that a figure may say less than it
/// seems to: the axes' directions, and size or spacing. A sentence for each.
std::vector<std::string> GridDifferences(const std::string& volume_name, const VolumeGrid& volume,
                                         const std::string& truth_name, const VolumeGrid& truth);

}  // namespace isocenter::imaging
