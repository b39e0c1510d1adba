// Small files that are there whole or not at all.
#pragma once

#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::storage {

/// Writes `bytes` beside `file` (NAME.part), then puts that in its place, whatever is there. On the
/// disk when it returns. One writer at a time. Errors: those of FileError; `file` is then as it
/// was.
absl::Status WriteWhole(const std::filesystem::path& file, absl::string_view bytes);

}  // namespace isocenter::storage
