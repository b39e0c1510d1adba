#include "server/storage/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"

namespace isocenter::storage {
namespace {

absl::StatusOr<struct statvfs> SpaceOf(const std::filesystem::path& path) {
  struct statvfs space {};
  if (statvfs(path.c_str(), &space) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot ask for the free space of ", path.string(), ": ", strerror(errno)));
  }
  return space;
}

}  // namespace

absl::Status FileError(int error_number, absl::string_view action,
                       const std::filesystem::path& path, uint64_t needed_bytes) {
  const std::string message =
      absl::StrCat("cannot ", action, " ", path.string(), ": ", strerror(error_number));
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: {
      const absl::StatusOr<uint64_t> free_bytes = FreeBytes(path.parent_path());
      return absl::ResourceExhaustedError(absl::StrCat(
          message, "; ", BytesText(needed_bytes), " were needed, ",
          free_bytes.ok() ? BytesText(*free_bytes) : std::string("unknown"), " are free"));
    }
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<uint64_t> FreeBytes(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(const struct statvfs space, SpaceOf(path));
  return uint64_t{space.f_bavail} * space.f_frsize;
}

absl::StatusOr<uint64_t> TotalBytes(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(const struct statvfs space, SpaceOf(path));
  const uint64_t kept_for_root = uint64_t{space.f_bfree} - uint64_t{space.f_bavail};
  return (uint64_t{space.f_blocks} - kept_for_root) * space.f_frsize;
}

absl::StatusOr<uint64_t> FileSystemOf(const std::filesystem::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return FileError(errno, "look at", path);
  return uint64_t{status.st_dev};
}

absl::Status CheckFreeBytes(const std::filesystem::path& path, uint64_t needed_bytes) {
  ISO_ASSIGN_OR_RETURN(const uint64_t free_bytes, FreeBytes(path));
  if (free_bytes < needed_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the disk is full: ", BytesText(needed_bytes),
                                                     " are needed, ", BytesText(free_bytes),
                                                     " are free (", path.string(), ")"));
  }
  return absl::OkStatus();
}

namespace {

absl::Status SyncDescriptorOf(const std::filesystem::path& directory, int (*sync)(int)) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return FileError(errno, "open", directory);
  const int result = sync(descriptor);
  const int error = errno;
  close(descriptor);
  return result == 0 ? absl::OkStatus() : FileError(error, "sync", directory);
}

}  // namespace

absl::Status SyncDirectory(const std::filesystem::path& directory) {
  return SyncDescriptorOf(directory, fsync);
}

absl::Status SyncFileSystem(const std::filesystem::path& directory) {
  return SyncDescriptorOf(directory, syncfs);
}

OutputFile::OutputFile(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), path_(std::move(path)) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::filesystem::path& path, uint64_t size) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return FileError(errno, "create", path, size);
  OutputFile file(descriptor, path);
  if (size > 0) {
    const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(size));
    // File systems without reservation are written to as usual.
    if (error != 0 && error != EINVAL && error != EOPNOTSUPP) {
      return FileError(error, "reserve space for", path, size);
    }
  }
  return file;
}

absl::Status OutputFile::WriteAt(uint64_t offset, std::span<const std::byte> first,
                                 std::span<const std::byte> second) {
  const uint64_t needed = first.size() + second.size();
  while (!first.empty() || !second.empty()) {
    const iovec pieces[] = {{const_cast<std::byte*>(first.data()), first.size()},
                            {const_cast<std::byte*>(second.data()), second.size()}};
    const ssize_t written = pwritev(descriptor_, pieces, 2, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return FileError(errno, "write", path_, needed);
    }
    offset += written;
    const size_t of_first = std::min<size_t>(written, first.size());
    first = first.subspan(of_first);
    second = second.subspan(written - of_first);
  }
  return absl::OkStatus();
}

void OutputFile::StartWriteback() {
  // A hint: where it is refused, SyncFileSystem() does all the work.
  (void)sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

absl::Status OutputFile::Sync() {
  return fsync(descriptor_) == 0 ? absl::OkStatus() : FileError(errno, "sync", path_);
}

}  // namespace isocenter::storage
