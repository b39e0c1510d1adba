// A frame that is missing, from the two beside it.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// frame = (1 - weight) · frame + weight · other, of pixels as the acquisition has them; counts are
/// rounded.
void BlendFrames(PixelType type, std::span<std::byte> frame, std::span<const std::byte> other,
                 float weight);

}  // namespace isocenter::recon
