// One result on disk: "ISOQUAL1", the CRC-32C of the rest, and a serialized v1::QualityResult.
#pragma once

#include <filesystem>

#include "absl/status/statusor.h"
#include "isocenter/v1/quality.pb.h"

namespace isocenter::quality_records {

/// Appears under its name when it is on the disk. Errors: those of storage::OutputFile.
absl::Status WriteRecord(const std::filesystem::path& path, const v1::QualityResult& result);

/// Errors: NOT_FOUND, DATA_LOSS (it is damaged).
absl::StatusOr<v1::QualityResult> ReadRecord(const std::filesystem::path& path);

}  // namespace isocenter::quality_records
