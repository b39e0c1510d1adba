#include "server/spool/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/status_macros.h"
#include "server/jobs/job.h"
#include "server/spool/format.h"
#include "server/storage/files.h"

namespace isocenter::spool {
namespace {

namespace fs = std::filesystem;

constexpr char kLive[] = ".spool";
constexpr char kReleased[] = ".released";
constexpr char kBeingCreated[] = ".creating";

SpoolOptions WithDefaults(SpoolOptions options) {
  if (!options.clock) options.clock = absl::Now;
  if (!options.sync_file) options.sync_file = fdatasync;
  if (!options.disk) {
    options.disk = [directory = options.directory]() -> absl::StatusOr<jobs::Disk> {
      jobs::Disk disk;
      ISO_ASSIGN_OR_RETURN(disk.id, storage::FileSystemOf(directory));
      ISO_ASSIGN_OR_RETURN(const uint64_t free_bytes, storage::FreeBytes(directory));
      ISO_ASSIGN_OR_RETURN(const uint64_t total_bytes, storage::TotalBytes(directory));
      disk.free_bytes = static_cast<int64_t>(free_bytes);
      disk.total_bytes = static_cast<int64_t>(total_bytes);
      return disk;
    };
  }
  return options;
}

/// The job id of a file's name, if it ends in `suffix`.
std::optional<std::string> JobIdOf(const fs::path& path, const char* suffix) {
  const std::string name = path.filename().string();
  absl::string_view id = name;
  if (!absl::ConsumeSuffix(&id, suffix) || !jobs::CheckJobId(std::string(id)).ok()) {
    return std::nullopt;
  }
  return std::string(id);
}

}  // namespace

Spool::Spool(SpoolOptions options, storage::Lock lock)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      capacity_bytes_(options_.capacity_bytes),
      committer_({options_.sync, options_.sync_interval, options_.sync_file,
                  [this](absl::Duration took) {
                    last_sync_seconds_ = absl::ToDoubleSeconds(took);
                    if (options_.on_sync) options_.on_sync(took);
                  }}),
      writers_(options_.writers),
      services_{&writers_, &committer_, options_.clock, [this] { OnClose(); }} {}

Spool::~Spool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (housekeeper_.joinable()) housekeeper_.join();
}

bool Spool::IsAt(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(storage::LockOfDirectory(directory), ignored);
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Open(SpoolOptions options) {
  std::error_code error;
  options.directory = fs::absolute(options.directory, error);
  if (error) return storage::FileError(error.value(), "find", options.directory);
  const bool is_new = !IsAt(options.directory);
  fs::create_directories(options.directory, error);
  if (error) return storage::FileError(error.value(), "create directory", options.directory);
  ISO_ASSIGN_OR_RETURN(storage::Lock lock, storage::Lock::OfDirectory(options.directory));
  std::unique_ptr<Spool> spool(new Spool(WithDefaults(std::move(options)), std::move(lock)));
  spool->is_new_ = is_new;
  ISO_RETURN_IF_ERROR(spool->Scan());
  spool->housekeeper_ = std::thread([spool = spool.get()] { spool->KeepHouse(); });
  return spool;
}

absl::Status Spool::Scan() {
  std::error_code error;
  absl::MutexLock lock(&mutex_);
  fs::directory_iterator it(options_.directory, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const fs::path& path = it->path();
    if (JobIdOf(path, kBeingCreated)) {
      if (!Unlink(path)) return storage::FileError(errno, "remove", path);
      continue;
    }
    auto job_id = JobIdOf(path, kLive);
    const bool released = !job_id;
    if (released) job_id = JobIdOf(path, kReleased);
    struct stat status {};
    if (!job_id || lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    Entry& entry = entries_[*job_id];
    entry.path = path;
    entry.bytes = status.st_size;
    entry.released = released;
    entry.released_at = absl::TimeFromTimespec(status.st_mtim);
  }
  if (error) return storage::FileError(error.value(), "list", options_.directory);
  const absl::StatusOr<jobs::Disk> disk = options_.disk();
  if (disk.ok()) FollowDisk(*disk, Count().used_bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<jobs::JobSpool>> Spool::Create(const std::string& job_id,
                                                              const std::string& acquisition,
                                                              int frames, int64_t frame_bytes,
                                                              int64_t spared_bytes) {
  ISO_RETURN_IF_ERROR(jobs::CheckJobId(job_id));
  ISO_ASSIGN_OR_RETURN(const Layout layout, MakeLayout(frames, frame_bytes, acquisition.size()));
  {
    absl::MutexLock lock(&mutex_);
    if (entries_.contains(job_id)) {
      return absl::AlreadyExistsError(absl::StrCat("job ", job_id, " is in the spool"));
    }
    ISO_RETURN_IF_ERROR(MakeRoom(job_id, layout.file_bytes, spared_bytes));
    // Holds the room while the file is made, which takes time.
    Entry& entry = entries_[job_id];
    entry.path = PathOf(job_id, kLive);
    entry.bytes = layout.file_bytes;
    entry.being_created = true;
  }
  auto file = MakeFile(job_id, acquisition, layout);
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(job_id);
  if (!file.ok()) {
    entries_.erase(entry);
    return file.status();
  }
  entry->second.being_created = false;
  entry->second.open = *file;
  return *std::move(file);
}

absl::StatusOr<std::shared_ptr<JobFile>> Spool::MakeFile(const std::string& job_id,
                                                         const std::string& acquisition,
                                                         const Layout& layout) {
  FileHeader header;
  header.job_id = job_id;
  header.layout = layout;
  header.acquisition_crc32c = Crc32c(std::as_bytes(std::span(acquisition)));
  header.created_us = absl::ToUnixMicros(options_.clock());
  const fs::path temporary = PathOf(job_id, kBeingCreated), path = PathOf(job_id, kLive);
  auto file = JobFile::Create(temporary, header, acquisition, services_);
  absl::Status status = file.status();
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = storage::FileError(errno, "rename", temporary);
  }
  if (status.ok()) status = storage::SyncDirectory(options_.directory);
  if (status.ok()) return file;
  Unlink(temporary);
  Unlink(path);
  return status;
}

std::vector<std::string> Spool::Jobs() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, entry] : entries_) {
    if (!entry.being_created) ids.push_back(id);
  }
  return ids;
}

absl::StatusOr<std::shared_ptr<jobs::JobSpool>> Spool::Open(const std::string& job_id) {
  const absl::Status not_found =
      absl::NotFoundError(absl::StrCat("job ", job_id, " is not in the spool"));
  absl::MutexLock opening(&opening_);
  fs::path path;
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = entries_.find(job_id);
    if (entry == entries_.end() || entry->second.being_created) return not_found;
    if (auto open = entry->second.open.lock()) return open;
    path = entry->second.path;
  }
  ISO_ASSIGN_OR_RETURN(std::shared_ptr<JobFile> file, JobFile::Open(path, job_id, services_));
  absl::MutexLock lock(&mutex_);
  const auto entry = entries_.find(job_id);
  if (entry == entries_.end()) return not_found;  // removed meanwhile
  entry->second.open = file;
  return file;
}

void Spool::Release(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(job_id);
  if (it == entries_.end() || it->second.being_created || it->second.released) return;
  Entry& entry = it->second;
  entry.released = true;
  entry.released_at = options_.clock();
  // The name and the time of change say so after a restart. Should either fail, the job comes back
  // as not released, and is released again by whoever finds that it has ended.
  const timespec time = absl::ToTimespec(entry.released_at);
  const timespec times[] = {time, time};
  const fs::path path = PathOf(job_id, kReleased);
  utimensat(AT_FDCWD, entry.path.c_str(), times, AT_SYMLINK_NOFOLLOW);
  if (rename(entry.path.c_str(), path.c_str()) == 0) entry.path = path;
  house_changed_ = true;
  ReclaimExpired();
}

absl::Status Spool::Retain(const std::string& job_id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto it = entries_.find(job_id);
    if (it == entries_.end() || it->second.being_created) {
      return absl::NotFoundError(absl::StrCat(
          "the frames of job ", job_id, " are no longer in the spool, which keeps them for ",
          absl::ToInt64Seconds(options_.retention),
          " s after a job has ended, and shorter when newer jobs need the space"));
    }
    Entry& entry = it->second;
    if (!entry.released) return absl::OkStatus();
    const fs::path path = PathOf(job_id, kLive);
    if (rename(entry.path.c_str(), path.c_str()) != 0) {
      return storage::FileError(errno, "rename", entry.path);
    }
    entry.path = path;
    entry.released = false;
  }
  return storage::SyncDirectory(options_.directory);
}

absl::Status Spool::Remove(const std::string& job_id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto entry = entries_.find(job_id);
    if (entry == entries_.end() || entry->second.being_created) return absl::OkStatus();
    if (!Unlink(entry->second.path)) {
      return storage::FileError(errno, "remove", entry->second.path);
    }
    entries_.erase(entry);
  }
  return storage::SyncDirectory(options_.directory);
}

}  // namespace isocenter::spool
