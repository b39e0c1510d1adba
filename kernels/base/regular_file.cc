#include "kernels/base/regular_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter {
namespace {

std::string Named(absl::string_view name, const std::string& path) {
  return absl::StrCat(name, " is ", path.empty() ? "''" : path);
}

absl::Status NoFile(absl::string_view name, const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Named(name, path), what));
}

}  // namespace

absl::Status CheckRegularFile(absl::string_view name, const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  switch (there.type()) {
    case std::filesystem::file_type::regular:
      return absl::OkStatus();
    case std::filesystem::file_type::directory:
      return NoFile(name, path, ", which is a directory; legal is a file");
    case std::filesystem::file_type::fifo:
    case std::filesystem::file_type::socket:
      return NoFile(name, path, ", which is a pipe; legal is a file");
    case std::filesystem::file_type::character:
    case std::filesystem::file_type::block:
      return NoFile(name, path, ", which is a device; legal is a file");
    default:
      return absl::NotFoundError(absl::StrCat(
          Named(name, path),
          ", which cannot be read: ", error ? error.message() : "No such file or directory"));
  }
}

absl::StatusOr<std::string> ReadRegularFile(absl::string_view name, const std::string& path,
                                            uint64_t limit_bytes) {
  ISO_RETURN_IF_ERROR(CheckRegularFile(name, path));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::PermissionDeniedError(
        absl::StrCat(Named(name, path), ", which cannot be read: ", std::strerror(errno)));
  }
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes > limit_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(Named(name, path), ", which has ", bytes,
                                                   " bytes; legal is at most ", limit_bytes));
  }
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<size_t>(file.gcount()));  // it may have been cut meanwhile
  return text;
}

absl::StatusOr<std::string> ReadPemFile(absl::string_view name, const std::string& path) {
  ISO_ASSIGN_OR_RETURN(std::string text, ReadRegularFile(name, path, kMostPemBytes));
  if (absl::StrContains(text, "-----BEGIN ")) return text;
  return NoFile(name, path, ", which is not PEM; legal is a PEM file");
}

}  // namespace isocenter
