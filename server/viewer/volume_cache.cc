#include "server/viewer/volume_cache.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_clock.h"
#include "server/base/log.h"
#include "server/storage/files.h"

namespace isocenter::viewer {
namespace {

constexpr size_t kMostWanted = 16;
constexpr absl::Duration kBetweenAttempts = absl::Seconds(10);
constexpr char kSuffix[] = ".bricks";

void RemoveFile(const std::filesystem::path& path) {
  std::error_code ignored;  // emptied at the next start at the latest
  std::filesystem::remove(path, ignored);
}

}  // namespace

absl::StatusOr<std::unique_ptr<VolumeCache>> VolumeCache::Open(
    std::filesystem::path directory, int64_t capacity_bytes,
    std::function<int64_t()> promised_bytes) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return storage::FileError(error.value(), "make", directory);
  if (chmod(directory.c_str(), 0700) != 0) return storage::FileError(errno, "protect", directory);
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == kSuffix) RemoveFile(entry.path());
  }
  if (error) return storage::FileError(error.value(), "list", directory);
  return std::unique_ptr<VolumeCache>(
      new VolumeCache(std::move(directory), capacity_bytes, std::move(promised_bytes)));
}

VolumeCache::VolumeCache(std::filesystem::path directory, int64_t capacity_bytes,
                         std::function<int64_t()> promised_bytes)
    : directory_(std::move(directory)),
      capacity_(capacity_bytes),
      promised_bytes_(std::move(promised_bytes)),
      thread_([this] { Run(); }) {}

VolumeCache::~VolumeCache() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, entry] : entries_) RemoveFile(entry.path);
}

absl::StatusOr<std::shared_ptr<const BrickFile>> VolumeCache::Get(
    const std::string& job_id, std::shared_ptr<const RawVolume> volume) {
  absl::MutexLock lock(&mutex_);
  auto found = entries_.find(job_id);
  if (found != entries_.end()) {
    Entry& entry = found->second;
    entry.last_use = ++uses_;
    const bool same = entry.version == volume->version();
    if (same && entry.bricks != nullptr) return entry.bricks;
    if (same && !entry.error.ok() && SteadyNow() - entry.failed_at < kBetweenAttempts) {
      return entry.error;
    }
    const bool under_way =
        building_ == job_id || std::ranges::find(wanted_, job_id) != wanted_.end();
    if (under_way) {
      return absl::UnavailableError("the volume is being prepared for viewing; try again");
    }
    Erase(found);
  }
  if (wanted_.size() >= kMostWanted) {
    return absl::UnavailableError(
        absl::StrCat(kMostWanted, " volumes are waiting to be prepared; try again"));
  }
  Entry entry{.version = volume->version(),
              .path = directory_ / absl::StrCat(job_id, ".", ++files_, kSuffix),
              .bytes = BrickFile::BytesOf(volume->extent()),
              .last_use = ++uses_};
  entry.volume = std::move(volume);
  entries_.emplace(job_id, std::move(entry));
  wanted_.push_back(job_id);
  return absl::UnavailableError("the volume is being prepared for viewing; try again");
}

void VolumeCache::Forget(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = entries_.find(job_id);
  if (found == entries_.end()) return;
  std::erase(wanted_, job_id);
  Erase(found);  // what is being made is removed when it is ready
}

void VolumeCache::Erase(std::map<std::string, Entry>::iterator entry) {
  // Who reads it goes on with the open file.
  RemoveFile(entry->second.path);
  entries_.erase(entry);
}

absl::Status VolumeCache::MakeRoom(int64_t bytes) {
  if (bytes > capacity_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the volume needs ", BytesText(bytes),
                     " of memory to be viewed; web.volume_cache_bytes is ", BytesText(capacity_)));
  }
  while (true) {
    int64_t used = 0;
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second.bricks == nullptr) continue;
      used += entry->second.bytes;
      if (oldest == entries_.end() || entry->second.last_use < oldest->second.last_use) {
        oldest = entry;
      }
    }
    if (used + bytes <= capacity_) break;
    Erase(oldest);
  }
  // Results need the disk more.
  return storage::CheckFreeBytes(directory_, static_cast<uint64_t>(2 * bytes + promised_bytes_()));
}

void VolumeCache::Run() {
  pthread_setname_np(pthread_self(), "iso-viewer");
  constexpr int kNiceness = 10;
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);  // Linux: of this thread alone
  while (true) {
    std::string job_id;
    std::shared_ptr<const RawVolume> volume;
    std::filesystem::path path;
    absl::Status room;
    {
      absl::MutexLock lock(&mutex_);
      auto news = [this]()
                      ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !wanted_.empty(); };
      mutex_.Await(absl::Condition(&news));
      if (stopping_) return;
      job_id = wanted_.front();
      wanted_.pop_front();
      building_ = job_id;
      const Entry& entry = entries_.at(job_id);
      volume = entry.volume;
      path = entry.path;
      room = MakeRoom(entry.bytes);
    }
    const auto go_on = [&] {
      absl::MutexLock lock(&mutex_);
      const auto found = entries_.find(job_id);
      return !stopping_ && found != entries_.end() && found->second.path == path;
    };
    absl::StatusOr<BrickFile> built =
        room.ok() ? BrickFile::Build(*volume, path, go_on) : absl::StatusOr<BrickFile>(room);
    absl::MutexLock lock(&mutex_);
    building_.clear();
    const auto found = entries_.find(job_id);
    if (found == entries_.end() || found->second.path != path) {
      RemoveFile(path);  // forgotten meanwhile
      continue;
    }
    found->second.volume = nullptr;
    if (built.ok()) {
      found->second.bricks = std::make_shared<const BrickFile>(*std::move(built));
    } else if (!absl::IsCancelled(built.status())) {
      spdlog::warn("event=volume_not_prepared job={} error=\"{}\"", job_id,
                   built.status().ToString());
      found->second.error = built.status();
      found->second.failed_at = SteadyNow();
    }
  }
}

}  // namespace isocenter::viewer
