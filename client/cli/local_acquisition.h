// An acquisition on disk as the numerics library takes it, without a server.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/plan.h"

namespace isocenter::cli {

/// Geometry and pixel type of a header, checked. Errors: INVALID_ARGUMENT (the field, its value,
/// what is legal).
absl::StatusOr<recon::Acquisition> ToAcquisition(const v1::AcquisitionHeader& header);

/// All frames of an acquisition in host memory.
class LocalFrames {
 public:
  /// Reads them, with a progress bar. Errors: those of the source, RESOURCE_EXHAUSTED (memory).
  static absl::StatusOr<LocalFrames> Read(formats::FrameSource& source);
  /// [view][v][u].
  ops::RawFrames view() const;

 private:
  recon::PixelType pixel_type_ = recon::PixelType::kUint16Counts;
  Shape3 shape_;
  std::vector<std::byte> pixels_;
};

}  // namespace isocenter::cli
