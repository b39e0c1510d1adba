#include "server/archive/directories.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/storage/files.h"

namespace isocenter::archive {

namespace fs = std::filesystem;

absl::Status MakeDirectory(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int error = errno;
  std::error_code ignored;
  if (error == EEXIST && fs::is_directory(path, ignored)) return absl::OkStatus();
  if (error == EEXIST) {
    return absl::FailedPreconditionError(
        absl::StrCat(path.string(), " is a file; the archive needs a directory there"));
  }
  return storage::FileError(error, "create directory", path);
}

absl::StatusOr<std::vector<fs::path>> Entries(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (auto it = fs::directory_iterator(directory, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    entries.push_back(it->path());
  }
  if (error) return storage::FileError(error.value(), "list", directory);
  return entries;
}

int64_t CountFiles(const fs::path& directory) {
  std::error_code error;
  int64_t count = 0;
  for (auto it = fs::recursive_directory_iterator(directory, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error)) ++count;
  }
  return error ? -1 : count;
}

absl::Status Rename(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? storage::FileError(error.value(), "rename", from) : absl::OkStatus();
}

absl::Status RemoveAll(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? storage::FileError(error.value(), "remove", path) : absl::OkStatus();
}

}  // namespace isocenter::archive
