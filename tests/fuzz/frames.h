// Reads what an acquisition's file promises.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "tests/fuzz/input.h"

namespace isocenter::fuzz {

/// The first and the last frame, unless they are so large that only reading them would be tried.
inline void ReadFrames(const absl::StatusOr<std::unique_ptr<formats::FrameSource>>& source) {
  if (!source.ok()) return;
  const int64_t frames = (*source)->header().frame_count();
  Require(frames >= 1 && (*source)->frame_bytes() >= 1, "an acquisition has frames and pixels");
  if ((*source)->frame_bytes() > 1 << 20) return;
  std::vector<std::byte> pixels((*source)->frame_bytes());
  (void)(*source)->Read(0, pixels);
  (void)(*source)->Read(frames - 1, pixels);
}

}  // namespace isocenter::fuzz
