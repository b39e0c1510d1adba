#include "server/spool/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/storage/files.h"

namespace isocenter::spool {
namespace {

// Calls `transfer` until all pieces are through; it returns what preadv and pwritev return.
// `on_end` is the status for a transfer of nothing.
template <class Transfer>
absl::Status TransferAll(const std::filesystem::path& path, const char* action, int64_t offset,
                         std::vector<iovec> pieces, const absl::Status& on_end,
                         const Transfer& transfer) {
  std::span<iovec> rest(pieces);
  uint64_t needed = 0;
  for (const iovec& piece : rest) needed += piece.iov_len;
  for (;;) {
    while (!rest.empty() && rest.front().iov_len == 0) rest = rest.subspan(1);
    if (rest.empty()) return absl::OkStatus();
    const ssize_t moved =
        transfer(rest.data(), static_cast<int>(std::min<size_t>(rest.size(), IOV_MAX)), offset);
    if (moved < 0) {
      if (errno == EINTR) continue;
      return storage::FileError(errno, action, path, needed);
    }
    if (moved == 0) return on_end;
    offset += moved;
    needed -= moved;
    for (size_t left = moved; left > 0;) {
      const size_t n = std::min(left, rest.front().iov_len);
      rest.front().iov_base = static_cast<std::byte*>(rest.front().iov_base) + n;
      rest.front().iov_len -= n;
      left -= n;
      if (rest.front().iov_len == 0) rest = rest.subspan(1);
    }
  }
}

}  // namespace

File::File(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), path_(std::move(path)) {}

File::~File() { close(descriptor_); }

absl::StatusOr<std::shared_ptr<File>> File::Create(const std::filesystem::path& path,
                                                   int64_t bytes) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return storage::FileError(errno, "create", path, bytes);
  std::shared_ptr<File> file(new File(descriptor, path));
  if (const int error = posix_fallocate(descriptor, 0, bytes); error != 0) {
    absl::Status status = storage::FileError(error, "reserve space for", path, bytes);
    unlink(path.c_str());
    return status;
  }
  return file;
}

absl::StatusOr<std::shared_ptr<File>> File::Open(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return storage::FileError(errno, "open", path);
  return std::shared_ptr<File>(new File(descriptor, path));
}

absl::Status File::Write(int64_t offset, std::vector<iovec> pieces) {
  return TransferAll(path_, "write", offset, std::move(pieces),
                     absl::InternalError(absl::StrCat("cannot write ", path_.string())),
                     [this](iovec* first, int count, int64_t at) {
                       return pwritev(descriptor_, first, count, at);
                     });
}

absl::Status File::Read(int64_t offset, std::vector<iovec> pieces) const {
  return TransferAll(path_, "read", offset, std::move(pieces),
                     absl::DataLossError(absl::StrCat(path_.string(), " is too short")),
                     [this](iovec* first, int count, int64_t at) {
                       return preadv(descriptor_, first, count, at);
                     });
}

absl::StatusOr<int64_t> File::Bytes() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return storage::FileError(errno, "examine", path_);
  return status.st_size;
}

absl::Status File::Sync(const std::function<int(int)>& sync) {
  absl::MutexLock syncing(&syncing_);
  ISO_RETURN_IF_ERROR(error());
  if (sync(descriptor_) == 0) return absl::OkStatus();
  absl::Status error = storage::FileError(errno, "sync", path_);
  absl::MutexLock lock(&mutex_);
  error_ = error;
  return error;
}

void File::StartWriteback(int64_t offset, int64_t bytes) {
  (void)sync_file_range(descriptor_, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

absl::Status File::error() const {
  absl::MutexLock lock(&mutex_);
  return error_;
}

bool Unlink(const std::filesystem::path& path) {
  return unlink(path.c_str()) == 0 || errno == ENOENT;
}

bool UnlinkAndFree(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  const bool unlinked = Unlink(path);
  if (descriptor < 0) return unlinked;
  // Should it fail, the space comes with the last descriptor.
  if (unlinked && ftruncate(descriptor, 0) != 0) errno = 0;
  close(descriptor);
  return unlinked;
}

}  // namespace isocenter::spool
