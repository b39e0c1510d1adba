#include "client/formats/file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/formats/partial.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

// Names of files that are being written. A handler of signals may read them at any moment, and
// takes no lock: who takes a name out of its slot owns it.
std::array<std::atomic<char*>, 32> partial_names;

/// Null where there are as many already.
char* Announce(const std::filesystem::path& path) {
  char* const name = strdup(path.c_str());
  for (std::atomic<char*>& slot : partial_names) {
    char* none = nullptr;
    if (slot.compare_exchange_strong(none, name)) return name;
  }
  std::free(name);
  return nullptr;
}

/// The process that writes what has a name of PartialName; empty of others.
std::optional<pid_t> Writer(const std::filesystem::path& path) {
  const std::vector<std::string> parts = absl::StrSplit(path.filename().string(), '.');
  pid_t process = 0;
  const bool is_partial = parts.size() >= 3 && parts.back() == "part" &&
                          absl::SimpleAtoi(parts[parts.size() - 2], &process) && process > 0;
  return is_partial ? std::optional(process) : std::nullopt;
}

/// Of a directory, it or a file in it.
std::filesystem::file_time_type LastWritten(const std::filesystem::path& path) {
  std::error_code error;
  auto last = std::filesystem::last_write_time(path, error);
  if (error) return std::filesystem::file_time_type::max();  // not to be judged
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const auto written = entry->last_write_time(gone);
    if (!gone) last = std::max(last, written);
  }
  return last;
}

absl::Status ErrnoStatus(int error, const std::string& what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

/// On a full disk, with what is free there: others may have taken it meanwhile.
absl::Status WriteFailed(int error_number, const std::filesystem::path& path) {
  absl::Status status = ErrnoStatus(error_number, absl::StrCat("cannot write ", path.string()));
  std::error_code none;
  const std::filesystem::space_info disk =
      std::filesystem::space(std::filesystem::absolute(path, none).parent_path(), none);
  if (none || !absl::IsResourceExhausted(status)) return status;
  return absl::ResourceExhaustedError(
      absl::StrCat(status.message(), "; ", BytesText(static_cast<int64_t>(disk.available)),
                   " are free there, and nothing is left of what was begun"));
}

/// Gives a file its name; errno's number, or 0. Not every file system can refuse to replace.
int Publish(const std::filesystem::path& from, const std::filesystem::path& to, bool replaces) {
  const unsigned how = replaces ? 0 : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::filesystem::path& path) {
  InputFile input;
  input.name_ = path.string();
  // Before it is opened: a pipe would wait for its writer.
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(there)) {
    return absl::InvalidArgumentError(absl::StrCat(input.name_, " is a directory, not a file"));
  }
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.name_, " is a device or pipe, not a regular file"));
  }
  input.file_.reset(std::fopen(path.c_str(), "rb"));
  if (!input.file_) return ErrnoStatus(errno, absl::StrCat("cannot open ", input.name_));
  input.size_ = std::filesystem::file_size(path, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(input.name_, " is not a regular file"));
  return input;
}

absl::Status InputFile::ReadAt(uint64_t offset, std::span<std::byte> bytes) {
  if (offset > size_ || bytes.size() > size_ - offset) {
    return absl::DataLossError(absl::StrCat(name_, " is truncated: it has ", size_,
                                            " bytes, but bytes ", offset, " to ",
                                            offset + bytes.size(), " are needed"));
  }
  if (fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0 ||
      std::fread(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return absl::DataLossError(
        absl::StrCat("cannot read ", bytes.size(), " bytes at ", offset, " of ", name_));
  }
  return absl::OkStatus();
}

absl::StatusOr<OutputFile> OutputFile::Create(const std::filesystem::path& path) {
  OutputFile output;
  output.path_ = path;
  std::error_code unknown;
  output.replaces_ = std::filesystem::exists(path, unknown);
  RemoveAbandoned(path);
  output.temporary_ = PartialName(path);
  output.partial_.reset(Announce(output.temporary_));
  output.file_.reset(std::fopen(output.temporary_.c_str(), "wb"));
  if (!output.file_) return ErrnoStatus(errno, absl::StrCat("cannot write ", path.string()));
  return output;
}

void OutputFile::Forget::operator()(char* name) const {
  for (std::atomic<char*>& slot : partial_names) {
    char* mine = name;
    if (slot.compare_exchange_strong(mine, nullptr)) return std::free(name);
  }
}

std::string PartialSuffix() { return absl::StrCat(".", getpid(), ".part"); }

std::filesystem::path PartialName(const std::filesystem::path& path) {
  return path.parent_path() / absl::StrCat(".", path.filename().string(), PartialSuffix());
}

bool IsPartial(const std::filesystem::path& path) { return Writer(path).has_value(); }

void RemoveAbandoned(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  constexpr auto kQuiet = std::chrono::minutes(10);
  const fs::path holder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string begin = absl::StrCat(".", path.filename().string(), ".");
  std::error_code error;
  std::vector<fs::path> abandoned;
  for (fs::directory_iterator entry(holder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::optional<pid_t> writer = Writer(entry->path());
    // ".NAME.1.2.part" is of NAME.1.
    if (!writer || name != absl::StrCat(begin, *writer, ".part")) continue;
    if (kill(*writer, 0) == 0 || errno != ESRCH) continue;
    if (fs::file_time_type::clock::now() - LastWritten(entry->path()) < kQuiet) continue;
    abandoned.push_back(entry->path());
  }
  for (const fs::path& left : abandoned) fs::remove_all(left, error);
}

bool RemovePartialFiles() {
  bool removed = false;
  for (std::atomic<char*>& slot : partial_names) {
    const char* const name = slot.exchange(nullptr);
    if (name != nullptr && unlink(name) == 0) removed = true;
  }
  return removed;
}

OutputFile::~OutputFile() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

absl::Status OutputFile::Write(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) {
    return WriteFailed(errno, path_);
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Commit() {
  if (std::fflush(file_.get()) != 0) return WriteFailed(errno, path_);
  if (const int error = Publish(temporary_, path_, replaces_); error == EEXIST) {
    return absl::AlreadyExistsError(absl::StrCat(
        path_.string(), " was made by another program meanwhile, and is left as it is"));
  } else if (error != 0) {
    return ErrnoStatus(error, absl::StrCat("cannot rename to ", path_.string()));
  }
  file_.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadText(const std::filesystem::path& path, uint64_t limit_bytes) {
  ISO_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  if (file.size() > limit_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name(), " has ", file.size(), " bytes; legal is at most ", limit_bytes));
  }
  std::string text(file.size(), '\0');
  ISO_RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

absl::Status WriteText(const std::filesystem::path& path, const std::string& text) {
  ISO_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  ISO_RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(text))));
  return file.Commit();
}

}  // namespace isocenter::formats
