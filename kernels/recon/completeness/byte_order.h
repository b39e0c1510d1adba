// Pixels whose bytes are in the wrong order.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "kernels/recon/acquisition.h"
#include "kernels/recon/completeness/frame_row.h"

namespace isocenter::recon {

/// A sentence for people where a frame's pixels, which are little-endian, are big-endian beyond
/// doubt. Of line integrals: three in ten and more of them are numbers that no line integral is
/// (not finite, beyond 1e10, or below 1e-20 and not zero), and with their bytes swapped none in a
/// thousand is. Of counts: neighbours in a row differ eight times less, and more, with their bytes
/// swapped. Not told: counts whose noise is beyond that, or that have one or two low bytes only (of
/// eight bits, scaled), whose order cannot be seen. `rows`: some of a frame.
std::optional<std::string> OtherByteOrderText(std::span<const FrameRow> rows, PixelType type);

}  // namespace isocenter::recon
