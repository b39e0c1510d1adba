// A row of a frame, as checks of a scan's completeness get it.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/ops/operations.h"

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

/// Row `v` of one of the frames.
inline FrameRow RowOf(const ops::RawFrames& frames, int view, int v) {
  const auto columns = static_cast<size_t>(frames.shape().fast);
  if (frames.counts) {
    return {v, std::as_bytes(std::span(frames.counts.row(view, v), columns))};
  }
  return {v, std::as_bytes(std::span(frames.line_integrals.row(view, v), columns))};
}

}  // namespace isocenter::recon
