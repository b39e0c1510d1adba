#include "server/audit/audit_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/audit/bounds.h"
#include "server/audit/json_line.h"
#include "server/base/log.h"

namespace isocenter::audit {
namespace {

// Of the disk, for records that come when others have filled it.
constexpr uint64_t kReservedBytes = 64 << 20;
constexpr absl::Duration kBetweenLooks = absl::Seconds(1);

absl::Status Failed(const char* action, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", action, " the audit file ", path));
}

uint64_t SizeOf(int descriptor) {
  struct stat about = {};
  return fstat(descriptor, &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
}

std::string ReadAt(int descriptor, uint64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  size_t read = 0;
  while (read < bytes) {
    const ssize_t now =
        pread(descriptor, text.data() + read, bytes - read, static_cast<off_t>(offset + read));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    read += static_cast<size_t>(now);
  }
  text.resize(read);
  return text;
}

/// How a file ends.
struct End {
  std::optional<Link> last;   // of its records; empty: none is found
  int64_t damaged_bytes = 0;  // of whole lines behind it that are none
  int64_t torn_bytes = 0;     // behind the last line's end
};

End EndOf(int descriptor) {
  // The last record, and two broken lines behind it.
  const uint64_t size = SizeOf(descriptor);
  const uint64_t begin = size - std::min<uint64_t>(size, 3 * kMostLineBytes);
  const std::string tail = ReadAt(descriptor, begin, size - begin);
  absl::string_view rest = tail;
  const size_t last_end = rest.rfind('\n');
  End end;
  end.torn_bytes = static_cast<int64_t>(
      last_end == absl::string_view::npos ? rest.size() : rest.size() - last_end - 1);
  rest.remove_suffix(static_cast<size_t>(end.torn_bytes));
  while (!rest.empty()) {
    const size_t before = rest.substr(0, rest.size() - 1).rfind('\n');
    const size_t from = before == absl::string_view::npos ? 0 : before + 1;
    const auto read = ReadChained(rest.substr(from, rest.size() - from - 1));
    if (read.ok()) {
      end.last = read->link;
      break;
    }
    end.damaged_bytes += static_cast<int64_t>(rest.size() - from);
    rest = rest.substr(0, from);
  }
  return end;
}

/// The number of a file's first record; 0: it begins with none.
int64_t FirstOf(int descriptor) {
  const std::string head = ReadAt(descriptor, 0, kMostLineBytes);
  const auto read = ReadChained(absl::string_view(head).substr(0, head.find('\n')));
  return read.ok() ? read->link.number : 0;
}

/// Of a closed file.
End EndOf(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const End end = EndOf(descriptor);
  close(descriptor);
  return end;
}

/// Records begin with a brace, also torn ones; what a lost block leaves is zeros. What begins with
/// anything else is somebody's file, which is not to be renamed or written to.
absl::Status CheckBegin(int descriptor) {
  const std::string begin = ReadAt(descriptor, 0, 1);
  if (begin.empty() || begin == "{" || begin == std::string(1, '\0')) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "which is there and holds no audit records; legal is a file of the trail's own, or a name "
      "that nothing has yet");
}

absl::Status OfField(const std::string& path, const absl::Status& wrong) {
  if (wrong.ok()) return wrong;
  return absl::Status(wrong.code(), absl::StrCat("audit.file is ", path, "; ", wrong.message()));
}

}  // namespace

absl::Status CheckFile(const std::string& path, std::optional<int> replaced) {
  namespace fs = std::filesystem;
  const std::optional<int> holder = storage::HolderOfFile(path);
  if (holder && holder != replaced) return OfField(path, storage::InUse(path, holder, "file"));
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor >= 0) {
    const absl::Status wrong = CheckBegin(descriptor);
    close(descriptor);
    return OfField(path, wrong);
  }
  if (errno != ENOENT) return OfField(path, Failed("open", path));
  // Directories that are not there yet are made in the nearest that is.
  std::error_code none;
  fs::path above = fs::absolute(path, none).parent_path();
  while (above.has_relative_path() && !fs::exists(above, none)) above = above.parent_path();
  if (access(above.c_str(), W_OK | X_OK) == 0) return absl::OkStatus();
  return OfField(path, absl::ErrnoToStatus(
                           errno, absl::StrCat("cannot make it in ", above.string(),
                                               "; legal is a directory that the service may write "
                                               "to")));
}

AuditFile::AuditFile(AuditFile&& other) noexcept
    : options_(std::move(other.options_)),
      lock_(std::move(other.lock_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(other.bytes_),
      first_(other.first_),
      last_(std::move(other.last_)),
      statement_(std::move(other.statement_)),
      ends_torn_(other.ends_torn_),
      closed_(std::move(other.closed_)),
      looked_(other.looked_) {}

AuditFile::~AuditFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<AuditFile> AuditFile::Open(FileOptions options) {
  const std::string path = options.path;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("audit.file is ", path, "; cannot make its directory"));
  }
  // Before a lock is made beside it: it may be somebody's file.
  ISO_RETURN_IF_ERROR(CheckFile(path));
  absl::StatusOr<storage::Lock> lock = storage::Lock::OfFile(path);
  ISO_RETURN_IF_ERROR(OfField(path, lock.status()));
  AuditFile file(std::move(options), *std::move(lock));
  ISO_RETURN_IF_ERROR(OfField(path, file.Reopen()));
  return file;
}

absl::Status AuditFile::Reopen() {
  closed_ = ClosedFiles(options_.path);
  descriptor_ = open(options_.path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return Failed("open", options_.path);
  bytes_ = SizeOf(descriptor_);
  first_ = 0;
  ends_torn_ = false;
  if (bytes_ > 0) ISO_RETURN_IF_ERROR(FindEnd());
  // Another run may have ended between closing a file and opening the next.
  for (auto file = closed_.rbegin(); last_.number == 0 && file != closed_.rend(); ++file) {
    const End end = EndOf(file->path);
    last_ = end.last.value_or(Link());
    if (end.torn_bytes > 0 && last_.number > 0) StateTorn(end.torn_bytes);
  }
  (void)fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(bytes_),
                  static_cast<off_t>(std::min(options_.max_bytes, kReservedBytes)));
  return absl::OkStatus();
}

absl::Status AuditFile::FindEnd() {
  ISO_RETURN_IF_ERROR(CheckBegin(descriptor_));
  const End end = EndOf(descriptor_);
  if (!end.last && end.damaged_bytes > 0) return PutAside();
  if (end.last) {
    last_ = *end.last;
    first_ = FirstOf(descriptor_);
    if (first_ == 0) first_ = last_.number;
  }
  ends_torn_ = end.torn_bytes > 0;
  if (end.damaged_bytes > 0) {
    State(absl::StrCat(end.damaged_bytes, " bytes before this record are no records"),
          end.torn_bytes);
  } else if (ends_torn_) {
    StateTorn(end.torn_bytes);
  }
  return absl::OkStatus();
}

absl::Status AuditFile::PutAside() {
  std::string aside;
  for (int i = 1; aside.empty() || access(aside.c_str(), F_OK) == 0; ++i) {
    aside = absl::StrCat(options_.path, ".unchained", i);
  }
  close(std::exchange(descriptor_, -1));
  if (std::rename(options_.path.c_str(), aside.c_str()) != 0) {
    return Failed("put aside", options_.path);
  }
  State(absl::StrCat("a file without records of this chain was found and is now ", aside), 0);
  descriptor_ = open(options_.path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return Failed("open", options_.path);
  bytes_ = 0;
  return absl::OkStatus();
}

void AuditFile::StateTorn(int64_t bytes) {
  State("the service or the machine ended while the record before this one was written", bytes);
}

void AuditFile::State(std::string what, int64_t torn_bytes) {
  spdlog::error("event=audit_damaged file={} what=\"{}\" torn_bytes={}", options_.path, what,
                torn_bytes);
  Event& event = statement_.emplace();
  event.action = Action::kTrail;
  event.outcome = Outcome::kFailure;
  event.detail = std::move(what);
  event.time = options_.clock();
  event.torn_bytes = torn_bytes;
}

void AuditFile::Look() {
  looked_ = options_.clock();
  closed_ = ClosedFiles(options_.path);
  struct stat ours = {}, there = {};
  if (descriptor_ >= 0 && fstat(descriptor_, &ours) == 0 &&
      (stat(options_.path.c_str(), &there) != 0 || ours.st_ino != there.st_ino)) {
    spdlog::warn("event=audit_file_taken_away file={} last={}", options_.path, last_.number);
    close(std::exchange(descriptor_, -1));
  }
}

absl::Status AuditFile::MakeRoom() {
  const auto limit = static_cast<size_t>(options_.max_files);
  if (closed_.size() >= limit && options_.clock() - looked_ >= kBetweenLooks) {
    looked_ = options_.clock();
    closed_ = ClosedFiles(options_.path);  // without those that were collected
  }
  while (closed_.size() >= limit) {
    const int64_t last = (closed_.size() > 1 ? closed_[1].first : first_) - 1;
    if (options_.exported == nullptr || options_.exported() < last) {
      return absl::ResourceExhaustedError(
          absl::StrCat(closed_.size(), " closed audit files are there, and ", closed_.front().path,
                       " has been neither collected nor sent; legal are audit.max_files = ",
                       options_.max_files));
    }
    (void)std::remove(closed_.front().path.c_str());
    closed_.erase(closed_.begin());
  }
  return absl::OkStatus();
}

absl::Status AuditFile::Rotate() {
  ISO_RETURN_IF_ERROR(MakeRoom());
  const std::string closed = ClosedName(options_.path, first_);
  if (access(closed.c_str(), F_OK) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(closed, " is there already; the audit file cannot be closed"));
  }
  (void)fdatasync(descriptor_);
  // Without what was reserved behind its end.
  (void)!ftruncate(descriptor_, static_cast<off_t>(bytes_));
  if (std::rename(options_.path.c_str(), closed.c_str()) != 0) {
    return Failed("close", options_.path);
  }
  close(std::exchange(descriptor_, -1));
  spdlog::info("event=audit_file_closed file={} last={} hash={}", closed, last_.number, last_.hash);
  return Reopen();
}

absl::Status AuditFile::WriteText(const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = write(descriptor_, text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) {
      const absl::Status status = Failed("write to", options_.path);
      // A piece of a line would spoil the next one. Where it cannot be taken back, it is looked for
      // as after a crash.
      if (ftruncate(descriptor_, static_cast<off_t>(bytes_)) != 0) {
        close(std::exchange(descriptor_, -1));
      }
      return status;
    }
    written += static_cast<size_t>(now);
  }
  bytes_ += text.size();
  return absl::OkStatus();
}

absl::Status AuditFile::Append(const Event& event) {
  Link next = last_;
  const std::string line = Chain(ToJson(event), next);
  if (bytes_ > 0 && bytes_ + line.size() + 2 > options_.max_bytes) ISO_RETURN_IF_ERROR(Rotate());
  ISO_RETURN_IF_ERROR(WriteText(absl::StrCat(ends_torn_ ? "\n" : "", line, "\n")));
  ends_torn_ = false;
  last_ = next;
  if (first_ == 0) first_ = last_.number;
  return absl::OkStatus();
}

absl::Status AuditFile::Write(const Event& event) {
  if (descriptor_ < 0) ISO_RETURN_IF_ERROR(Reopen());
  if (statement_) {
    ISO_RETURN_IF_ERROR(Append(*statement_));
    statement_.reset();
  }
  return Append(event);
}

Fill AuditFile::fill() const {
  uint64_t used = bytes_;
  for (const ClosedFile& file : closed_) used += file.bytes;
  return {used, (static_cast<uint64_t>(options_.max_files) + 1) * options_.max_bytes};
}

}  // namespace isocenter::audit
