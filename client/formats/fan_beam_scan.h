// Fan-beam scans on disk: a stack of slices. docs/formats/fan-beam.md.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "client/formats/file.h"
#include "kernels/base/views.h"
#include "kernels/geometry/fan_beam.h"

namespace isocenter::formats {

inline constexpr int kFanBeamVersion = 1;

/// Whether the path is a directory with a fan_beam.json.
bool IsFanBeamScan(const std::filesystem::path& path);

/// A scan whose values are read in parts. Not thread-safe.
class FanBeamScan {
 public:
  /// Errors: NOT_FOUND, INVALID_ARGUMENT (fields that are missing, unknown or out of range, by
  /// name), DATA_LOSS (sinogram.raw is not exactly as large as fan_beam.json says).
  static absl::StatusOr<FanBeamScan> Open(const std::filesystem::path& directory);

  const FanBeamGeometry& geometry() const { return geometry_; }
  int slices() const { return slices_; }
  double slice_spacing_mm() const { return slice_spacing_mm_; }
  /// Line integrals [view][slice][channel] of the slices from `first`, as many as `lines` has rows;
  /// of counts -log(max(count, 1) / i0). Errors: DATA_LOSS, RESOURCE_EXHAUSTED.
  absl::Status Read(int64_t first, HostView3<float> lines);

 private:
  FanBeamScan(const FanBeamGeometry& geometry, InputFile values)
      : geometry_(geometry), values_(std::move(values)) {}

  FanBeamGeometry geometry_;
  InputFile values_;
  int slices_ = 1;
  double slice_spacing_mm_ = 1;
  bool counts_ = false;
  double i0_counts_ = 0;
};

}  // namespace isocenter::formats
