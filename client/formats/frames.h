// Acquisitions as files hold them: a header and frames in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::formats {

/// A recorded acquisition that can be streamed. Not thread-safe.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  /// Complete but for identity and protocol, which may be empty.
  virtual const v1::AcquisitionHeader& header() const = 0;
  virtual int64_t frame_bytes() const = 0;
  /// Fills `pixels` (frame_bytes) with frame `index` as Frame.pixels wants it. Sources of
  /// compressed data can be read only in ascending order. Errors: DATA_LOSS, INVALID_ARGUMENT.
  virtual absl::Status Read(int64_t index, std::span<std::byte> pixels) = 0;
  /// What frame `index` tells of its dose, as Frame.dose; 0: nothing.
  virtual float dose(int64_t /*index*/) const { return 0; }
  /// Where in a moving organ's cycle frame `index` was taken, 0 to less than 1; none: not told.
  virtual std::optional<float> phase(int64_t /*index*/) const { return std::nullopt; }
  /// What had to be assumed because the files do not say it, as sentences for the user.
  virtual std::vector<std::string> notes() const { return {}; }
  /// What contradicts itself in the files, as sentences for the user.
  virtual std::vector<std::string> warnings() const { return {}; }
};

/// Takes the frames of an acquisition in order. Not thread-safe.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// Errors: INVALID_ARGUMENT (size, too many frames), RESOURCE_EXHAUSTED (disk full).
  virtual absl::Status Append(std::span<const std::byte> pixels) = 0;
  /// Makes the files visible. Errors: FAILED_PRECONDITION when frames are missing.
  virtual absl::Status Finish() = 0;
};

}  // namespace isocenter::formats
