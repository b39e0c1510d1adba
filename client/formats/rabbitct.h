// RabbitCT acquisition files (.rct). docs/formats/rabbitct.md.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"

namespace isocenter::formats {

/// The header's trajectory comes from the file; the detector pitch, which the file does not hold,
/// is that of RabbitCT's detector (0.32 mm at 1248 columns) at the file's width. Errors: NOT_FOUND,
/// INVALID_ARGUMENT (not such a file), DATA_LOSS (truncated; both sizes are named).
absl::StatusOr<std::unique_ptr<FrameSource>> OpenRabbitCt(const std::filesystem::path& path);

/// The header must list matrices and have line integrals as pixels. Errors: INVALID_ARGUMENT,
/// PERMISSION_DENIED.
absl::StatusOr<std::unique_ptr<FrameSink>> CreateRabbitCt(const std::filesystem::path& path,
                                                          const v1::AcquisitionHeader& header);

}  // namespace isocenter::formats
