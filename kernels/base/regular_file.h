// Small files that somebody names: configurations, keys, tables.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter {

/// What is wrong with `path` as the name of a regular file: OK, NOT_FOUND (there is none) or
/// INVALID_ARGUMENT (a directory, a pipe, a device), as "NAME is PATH, which is a directory; legal
/// is a file". Opens nothing: a pipe would wait for its writer.
absl::Status CheckRegularFile(absl::string_view name, const std::string& path);

/// The whole of it. `name` is the flag or the field that names it. Errors: those of
/// CheckRegularFile, PERMISSION_DENIED, INVALID_ARGUMENT (more than `limit_bytes`).
absl::StatusOr<std::string> ReadRegularFile(absl::string_view name, const std::string& path,
                                            uint64_t limit_bytes);

/// The authorities of a country.
inline constexpr uint64_t kMostPemBytes = 16 << 20;

/// Certificates or a key, as text. Errors: those of ReadRegularFile with kMostPemBytes,
/// INVALID_ARGUMENT (not PEM).
absl::StatusOr<std::string> ReadPemFile(absl::string_view name, const std::string& path);

}  // namespace isocenter
