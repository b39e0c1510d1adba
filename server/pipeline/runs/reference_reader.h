// A stored volume, read a few slices at a time into a reference.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/recon/self_calibration/reference/reference_volume.h"

namespace isocenter::pipeline {

/// Not thread-safe. Its memory is ReferenceMaker::bytes. A file that was opened is read to its end
/// also when it is removed meanwhile.
class ReferenceReader {
 public:
  /// `file`: float32 little-endian HU, [z][y][x], of the grid that `maker` was given; `job_id` is
  /// whose volume it is, for what is said of it. Errors: FAILED_PRECONDITION (it cannot be opened).
  static absl::StatusOr<ReferenceReader> Open(const std::string& job_id,
                                              const std::filesystem::path& file,
                                              recon::ReferenceMaker maker);

  /// Reads what becomes a slice of the reference; true when there is no more to read. Errors:
  /// DATA_LOSS (the file is shorter than its grid).
  absl::StatusOr<bool> ReadSlice();
  /// After the last. Errors: ReferenceMaker::Finish's.
  absl::StatusOr<recon::ReferenceVolume> Finish() { return maker_.Finish(); }

 private:
  explicit ReferenceReader(recon::ReferenceMaker maker) : maker_(std::move(maker)) {}

  std::string job_id_;
  std::ifstream file_;
  recon::ReferenceMaker maker_;
  std::vector<float> slices_;
};

}  // namespace isocenter::pipeline
