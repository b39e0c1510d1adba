// Line integrals that somebody has made with another logarithm.
#pragma once

#include <optional>
#include <string>

#include "kernels/base/views.h"

namespace isocenter::recon {

/// A sentence for people where what a volume shows is as dense as water would be of decadic
/// logarithms, log10(I0 / I), which are 1 / ln 10 of the natural ones: of its voxels above -800 HU
/// three in ten and more lie about -566 HU, and three times as many as about water. A lung does not
/// (soft tissue lies around it); foam and wood do, and a --mu-water of another beam.
/// `hounsfield`: [z][y][x]; some of a large one are looked at.
std::optional<std::string> DecadicLogarithmText(HostView3<const float> hounsfield);

}  // namespace isocenter::recon
