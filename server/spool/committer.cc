#include "server/spool/committer.h"

#include <utility>

#include "kernels/base/steady_clock.h"

namespace isocenter::spool {

Committer::Committer(SyncSettings settings) : settings_(std::move(settings)) {
  if (settings_.policy != SyncPolicy::kNever) thread_ = std::thread([this] { Run(); });
}

Committer::~Committer() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Committer::OnWritten(const std::shared_ptr<File>& file, int64_t offset, int64_t bytes,
                          Done done) {
  switch (settings_.policy) {
    case SyncPolicy::kAlways:
      Add(file, bytes, std::move(done));
      return;
    case SyncPolicy::kInterval:
      Add(file, bytes, nullptr);
      done(file->error());
      // So that the next sync finds little left to write. After `done`, because it may wait for
      // room in the disk's queue.
      if (bytes > 0) file->StartWriteback(offset, bytes);
      return;
    case SyncPolicy::kNever:
      done(absl::OkStatus());
      return;
  }
}

absl::Status Committer::CommitRecord(const std::shared_ptr<File>& file, int64_t bytes) {
  switch (settings_.policy) {
    case SyncPolicy::kAlways:
      // Here and not in the thread: whoever is called by that thread may wait for a record.
      return Sync(*file);
    case SyncPolicy::kInterval:
      Add(file, bytes, nullptr);
      return file->error();
    case SyncPolicy::kNever:
      return absl::OkStatus();
  }
  return absl::OkStatus();
}

int64_t Committer::unsynced_bytes() const {
  absl::MutexLock lock(&mutex_);
  return unsynced_bytes_;
}

void Committer::Add(const std::shared_ptr<File>& file, int64_t bytes, Done done) {
  absl::MutexLock lock(&mutex_);
  Unsynced& unsynced = unsynced_[file.get()];
  unsynced.file = file;
  unsynced.bytes += bytes;
  if (done) unsynced.waiting.push_back(std::move(done));
  unsynced_bytes_ += bytes;
}

absl::Status Committer::Sync(File& file) {
  const absl::Time start = SteadyNow();
  const absl::Status status = file.Sync(settings_.sync);
  if (settings_.on_sync) settings_.on_sync(SteadyNow() - start);
  return status;
}

void Committer::Run() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !unsynced_.empty();
  };
  absl::Time next = absl::InfinitePast();
  for (;;) {
    UnsyncedFiles files;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      if (settings_.policy == SyncPolicy::kInterval) {
        AwaitFor(mutex_, absl::Condition(&stopping_), next - SteadyNow());
      }
      if (unsynced_.empty()) return;
      files.swap(unsynced_);
    }
    next = SteadyNow() + settings_.interval;
    for (auto& [key, unsynced] : files) {
      const absl::Status status = Sync(*unsynced.file);
      {
        absl::MutexLock lock(&mutex_);
        unsynced_bytes_ -= unsynced.bytes;
      }
      for (const Done& done : unsynced.waiting) done(status);
    }
  }
}

}  // namespace isocenter::spool
