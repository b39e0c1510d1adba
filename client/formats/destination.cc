#include "client/formats/destination.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/flags/wrong_usage.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

namespace fs = std::filesystem;

std::string Named(const Destination& destination) {
  return absl::StrCat(destination.flag, " is '", destination.path.string(), "'");
}

absl::Status CheckEnding(const Destination& to) {
  const std::vector<std::string>& endings = to.endings;
  const std::string name = to.path.filename().string();
  const auto is_of_name = [&name](const std::string& ending) {
    return name.size() > ending.size() && name.ends_with(ending);
  };
  if (endings.empty() || std::ranges::any_of(endings, is_of_name)) return absl::OkStatus();
  return flags::WrongUsage(
      absl::StrCat(Named(to), "; legal is a file that ends in ", absl::StrJoin(endings, " or ")));
}

/// The directory in which names are going to be made: it is there, takes them, and has room.
absl::Status CheckPlace(const Destination& to, const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) {
    return absl::NotFoundError(absl::StrCat(Named(to), ", but there is no directory ",
                                            directory.string(),
                                            "; legal is a path in a directory that exists"));
  }
  if (!fs::is_directory(directory, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(to), ", but ", directory.string(), " is not a directory"));
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        Named(to), ", but ", directory.string(), " cannot be written to: ", std::strerror(errno)));
  }
  struct statvfs disk {};
  if (statvfs(directory.c_str(), &disk) != 0) return absl::OkStatus();
  const size_t name_bytes = to.path.filename().native().size();
  if (name_bytes > disk.f_namemax) {
    return absl::InvalidArgumentError(absl::StrCat(Named(to), ", whose name has ", name_bytes,
                                                   " bytes; legal are at most ", disk.f_namemax,
                                                   " for a name there"));
  }
  if (to.bytes == 0) return absl::OkStatus();
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (to.bytes <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(Named(to), ", which needs ", BytesText(to.bytes),
                                                   "; ", BytesText(free), " are free there"));
}

/// The directory that holds a path.
fs::path HolderOf(const fs::path& path) {
  const fs::path holder = path.parent_path();
  return holder.empty() ? fs::path(".") : holder;
}

/// Whether a file may be JSON, by its first character. An empty one may become it.
bool MayBeJson(const fs::path& path) {
  std::ifstream file(path);
  char first = 0;
  return !(file >> first) ? file.eof() : first == '{' || first == '[';
}

/// A link to nothing would be replaced, and what it was for not be written.
absl::Status CheckLink(const Destination& to) {
  std::error_code error;
  if (!fs::is_symlink(fs::symlink_status(to.path, error)) || fs::exists(to.path, error)) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat(Named(to), ", a link to ", fs::read_symlink(to.path, error).string(),
                   ", where nothing is; legal is another name, or a link to what is there"));
}

absl::Status CheckFile(const Destination& to) {
  ISO_RETURN_IF_ERROR(CheckLink(to));
  std::error_code error;
  const fs::file_status there = fs::status(to.path, error);
  if (fs::is_directory(there)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(to), ", a directory; legal is the name of a file"));
  }
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(to), ", a device or pipe; legal is the name of a file"));
  }
  for (const fs::path& input : to.inputs) {
    if (!input.empty() && fs::equivalent(to.path, input, error)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Named(to), ", which is read, too; legal is another file"));
    }
  }
  if (!to.replaces && fs::exists(there)) {
    return absl::AlreadyExistsError(
        absl::StrCat(Named(to), ", which is there already; legal is another name, or --overwrite"));
  }
  if (to.is_json && fs::exists(there) && !MayBeJson(to.path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(Named(to), ", which is there already and is no JSON; legal is another name"));
  }
  return CheckPlace(to, HolderOf(to.path));
}

}  // namespace

absl::Status CheckFileDestination(const Destination& destination) {
  if (!destination.path.has_filename()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(destination), "; legal is the name of a file"));
  }
  ISO_RETURN_IF_ERROR(CheckEnding(destination));
  ISO_RETURN_IF_ERROR(CheckFile(destination));
  if (destination.path.extension() != ".mhd") return absl::OkStatus();
  Destination data = destination;
  data.path.replace_extension(".raw");
  return CheckFile(data);
}

bool LooksLikeAFile(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return false;
  return std::ranges::any_of(path.extension().string(),
                             [](char c) { return absl::ascii_isalpha(c); });
}

absl::Status CheckDirectoryDestination(const Destination& destination) {
  if (destination.path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Named(destination), "; legal is the name of a directory"));
  }
  std::error_code error;
  Destination itself = destination;
  if (!itself.path.has_filename()) itself.path = itself.path.parent_path();  // "dir/"
  ISO_RETURN_IF_ERROR(CheckLink(itself));
  fs::path there = fs::absolute(destination.path, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  return CheckPlace(destination, there);
}

}  // namespace isocenter::formats
