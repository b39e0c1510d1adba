// Line integrals that somebody has made with another logarithm, or of counts that are no light.
#pragma once

#include <optional>
#include <string>

#include "kernels/base/views.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// A sentence for people where what a volume shows is as dense as water would be of decadic
/// logarithms, log10(I0 / I), which are 1 / ln 10 of the natural ones: of its voxels above -800 HU
/// three in ten and more lie about -566 HU, and three times as many as about water. A lung does not
/// (soft tissue lies around it); foam and wood do, and a --mu-water of another beam. Of counts the
/// same says that they went through a square root (water at -500 HU) or the table of a display
/// (light to the power of 0.45: -550), whose noise CountNoise tells, where there is noise.
/// `hounsfield`: [z][y][x]; some of a large one are looked at. `type`: of the frames.
std::optional<std::string> DecadicLogarithmText(HostView3<const float> hounsfield, PixelType type);

}  // namespace isocenter::recon
