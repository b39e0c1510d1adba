// What a stored DICOM object says of itself. The files are this node's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace isocenter::dicom {

/// Where the frames are in a file: the last `frames` times `frame_bytes` of it, one after the
/// other, uncompressed, little-endian.
struct PixelLayout {
  int rows = 0, columns = 0, frames = 1;
  bool is_signed = false;  // 16 bits each, one sample
  int64_t offset = 0;      // of the first frame
  int64_t frame_bytes = 0;
};

/// How stored values are shown unless somebody wants something else.
struct Presentation {
  double slope = 1, intercept = 0;  // to the values that a window is about
  double window_center = 0, window_width = 0;
};

/// All of its attributes in the DICOM JSON Model (PS3.18, annex F), its pixels as a reference to
/// `bulk_data_uri`. Errors: NOT_FOUND (the file is gone), DATA_LOSS (it is none of ours).
absl::StatusOr<std::string> MetadataOf(const std::filesystem::path& file,
                                       const std::string& bulk_data_uri);

/// Reads no more than the beginning. Errors: as above.
absl::StatusOr<PixelLayout> ReadPixelLayout(const std::filesystem::path& file);

/// Errors: as above.
absl::StatusOr<Presentation> ReadPresentation(const std::filesystem::path& file);

}  // namespace isocenter::dicom
