// DICOM files, bounded before DCMTK reads them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "absl/status/status.h"

namespace isocenter::formats {

/// Whether a file begins as DICOM files do (PS3.10, 7.1).
bool IsDicomFile(const std::filesystem::path& path);

/// Checks that a file, or its bytes, are a DICOM file whose sequences are nested no deeper than 16
/// levels, with at most a million elements, all of which it holds (dicom::DataSetScanner). Values
/// as large as pixels are not read. Errors: NOT_FOUND, INVALID_ARGUMENT (with what is legal),
/// DATA_LOSS (it ends before what it begins).
absl::Status CheckDicomFile(const std::filesystem::path& path);
absl::Status CheckDicomFile(std::span<const std::byte> bytes);

}  // namespace isocenter::formats
