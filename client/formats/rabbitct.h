// RabbitCT data sets (.rct, .rctd). docs/formats/rabbitct.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "client/formats/file.h"
#include "client/formats/frames.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::formats {

/// The header's trajectory comes from the file; the detector pitch, which the file does not hold,
/// is that of RabbitCT's detector (0.32 mm at 1248 columns) at the file's width. For files of line
/// integrals only: data sets of the benchmark hold filtered projections, which must not be filtered
/// again. Errors: NOT_FOUND, INVALID_ARGUMENT (not such a file, filtered projections), DATA_LOSS
/// (truncated; both sizes are named).
absl::StatusOr<std::unique_ptr<FrameSource>> OpenRabbitCt(const std::filesystem::path& path);

/// What the first bytes of a data set say.
struct RabbitCtPreamble {
  int version = 1;  // of the layout: 1 (2009), or 2 (2012), which begins with its number
  uint32_t columns = 0, rows = 0, projections = 0;
  float hu_factor = 1, hu_offset = 0;  // the benchmark's HU = factor · value + offset
};

/// Writes a data set front to back: all projections, then the reference volumes. Not thread-safe.
class RabbitCtWriter {
 public:
  /// Errors: NOT_FOUND (no such directory), PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk full).
  static absl::StatusOr<RabbitCtWriter> Create(const std::filesystem::path& path,
                                               const RabbitCtPreamble& preamble);

  /// image  [row][column], filtered and weighted. Errors: INVALID_ARGUMENT (size, more than the
  /// preamble's projections), RESOURCE_EXHAUSTED.
  absl::Status AppendProjection(const ProjectionMatrix& matrix, std::span<const float> image);

  /// After the projections: whole slices of the reference volumes, [z][y][x] in the benchmark's HU,
  /// of 128³ first, then of 256³ and so on. Errors: RESOURCE_EXHAUSTED.
  absl::Status AppendReference(std::span<const uint16_t> slices);

  /// Makes the file visible. Errors: FAILED_PRECONDITION when projections are missing.
  absl::Status Finish();

 private:
  RabbitCtWriter(const RabbitCtPreamble& preamble, OutputFile file)
      : preamble_(preamble), file_(std::move(file)) {}

  RabbitCtPreamble preamble_;
  OutputFile file_;
  uint32_t written_ = 0;
};

}  // namespace isocenter::formats
