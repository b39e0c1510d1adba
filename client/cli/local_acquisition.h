// An acquisition on disk as the numerics library takes it, without a server.
#pragma once

#include <cstddef>
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
  /// Reads them, with a progress bar; line integrals that no beam gives are repaired. Errors: those
  /// of the source and of recon::RepairScan, RESOURCE_EXHAUSTED (memory).
  static absl::StatusOr<LocalFrames> Read(formats::FrameSource& source);
  /// [view][v][u].
  ops::RawFrames view() const;
  /// What was repaired: sentences for people.
  const std::vector<std::string>& repairs() const { return repairs_; }
  /// What each tells of its dose; 0: nothing.
  std::span<const float> doses() const { return doses_; }
  /// [v][u] of a view.
  std::span<const std::byte> frame(int view) const {
    const size_t bytes = pixels_.size() / shape_.slow;
    return std::span(pixels_).subspan(view * bytes, bytes);
  }

 private:
  recon::PixelType pixel_type_ = recon::PixelType::kUint16Counts;
  Shape3 shape_;
  std::vector<std::byte> pixels_;
  std::vector<float> doses_;
  std::vector<std::string> repairs_;
};

}  // namespace isocenter::cli
