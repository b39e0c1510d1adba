// A row of a frame, as checks of a scan's completeness get it.
#pragma once

#include <cstddef>
#include <span>

namespace isocenter::recon {

struct FrameRow {
  int v = 0;
  std::span<const std::byte> pixels;  // [u], as the acquisition's pixel type
};

}  // namespace isocenter::recon
