// One CT series as a directory of DICOM files.
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "client/formats/volume.h"

namespace isocenter::formats {

/// Reads the CT slices of a directory (files of other kinds are skipped), sorts them along the
/// slice normal and rescales them to HU. Spacing between slices comes from Image Position
/// (Patient). The grid is in LPS, as DICOM's. Errors: NOT_FOUND (no slices), INVALID_ARGUMENT (more
/// than one series, slices that differ in size or orientation, uneven or double positions, a
/// Rescale Type that is not HU).
absl::StatusOr<Volume> ReadDicomSeries(const std::filesystem::path& directory);

/// What the images of a series tell of the X-rays that they were made of.
struct SeriesBeam {
  std::string station_name;    // empty: not told; at most 16 characters
  double tube_voltage_kv = 0;  // 0: not told
  std::string comments;        // Image Comments; empty: none
};

/// Of the first CT slice by name. Errors: as ReadDicomSeries.
absl::StatusOr<SeriesBeam> ReadSeriesBeam(const std::filesystem::path& directory);

/// The Frame of Reference UID of the first CT slice by name; empty: none. Errors: as
/// ReadDicomSeries.
absl::StatusOr<std::string> SeriesFrameOfReference(const std::filesystem::path& directory);

}  // namespace isocenter::formats
