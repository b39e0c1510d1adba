// Whether air and soft tissue of a volume are where Hounsfield units have them.
#pragma once

#include <optional>
#include <string>

#include "kernels/base/views.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// A sentence for people where a volume cannot be right:
/// - it is half as dense as water (DecadicLogarithmText);
/// - more than half of what is no air (above -500 HU) is above 3000 HU: line integrals in another
///   unit;
/// - of line integrals, what is no air lies some hundred HU above it and next to nothing of it
/// above
///   -500 HU: they are divided, or in another unit;
/// - what is no air has its most frequent value beyond -150 to 150 HU, or in the
///   middle 60 % of it along each axis beyond -150 to 300, where spongy bone may prevail: matrices
///   of another distance or pitch make all of it denser or thinner by one factor, too much scatter
///   that is taken off its middle;
/// - air has its most frequent value below -1100 HU, or above -900 all around the grid's sides.
/// Muscle, blood, brain, fat, water and acrylic glass are within, metal, lungs and contrast agent
/// are not what there is most of. Says nothing of a grid inside of an object, where there is no air
/// (5 % of the voxels, below -700 HU) to tell it from one that is seen as a whole; but for air.
/// Objects of another material are told, too.
/// `hounsfield`: [z][y][x]; some of a large one are looked at. `type`: of the frames.
std::optional<std::string> ImplausibleHounsfieldText(HostView3<const float> hounsfield,
                                                     PixelType type);

}  // namespace isocenter::recon
