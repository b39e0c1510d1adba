// An acquisition on disk as the numerics library takes it, without a server.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/plan.h"

namespace isocenter::cli {

/// All frames of an acquisition in host memory.
class LocalFrames {
 public:
  /// Reads them, with a progress bar, and warns on stderr of frames that show nothing. Errors:
  /// those of the source, RESOURCE_EXHAUSTED (memory).
  static absl::StatusOr<LocalFrames> Read(formats::FrameSource& source);
  /// [view][v][u].
  ops::RawFrames view() const;
  /// What each tells of its dose; 0: nothing.
  std::span<const float> doses() const { return doses_; }
  /// [v][u] of a view.
  std::span<const std::byte> frame(int view) const {
    const size_t bytes = pixels_.size() / shape_.slow;
    return std::span(pixels_).subspan(view * bytes, bytes);
  }
  /// Whether all its pixels have one value, as of a detector that was not exposed, or has not
  /// answered.
  bool is_constant(int view) const { return constant_[view]; }

 private:
  recon::PixelType pixel_type_ = recon::PixelType::kUint16Counts;
  Shape3 shape_;
  std::vector<std::byte> pixels_;
  std::vector<float> doses_;
  std::vector<bool> constant_;  // [view]
};

/// Why the object is wider than the detector; nothing where it is not (recon::CutRows).
std::optional<std::string> CutRowsText(const recon::Acquisition& acquisition,
                                       const LocalFrames& frames);

}  // namespace isocenter::cli
