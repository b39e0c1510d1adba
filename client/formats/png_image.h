// PNG files.
#pragma once

#include <filesystem>

#include "absl/status/status.h"
#include "proto/images/png.h"

namespace isocenter::formats {

using images::EncodePng;
using images::GrayImage;

/// Errors: NOT_FOUND (no such directory), PERMISSION_DENIED, RESOURCE_EXHAUSTED, INTERNAL.
absl::Status WritePng(const std::filesystem::path& path, const GrayImage& image);

}  // namespace isocenter::formats
