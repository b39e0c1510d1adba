// A row of a frame, as checks of a scan's completeness get it.
#pragma once

#include <cstddef>
#include <span>

namespace isocenter::recon {

struct FrameRow {
  int v = 0;
  std::span<const std::byte> pixels;  // [u], as the acquisition's pixel type
};

/// Row `v` of a frame of so many rows, which is in one piece.
inline FrameRow RowOf(std::span<const std::byte> frame, int v, int rows) {
  const size_t bytes = frame.size() / rows;
  return {v, frame.subspan(v * bytes, bytes)};
}

}  // namespace isocenter::recon
