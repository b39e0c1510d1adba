// What is still to be sent to the repository.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/audit/event.h"
#include "server/audit/trail_reader.h"

namespace isocenter::audit {

/// One thread adds, another takes. Records that are in no file have the number 0.
class Outbox {
 public:
  virtual ~Outbox() = default;
  /// A record that has come.
  virtual void Add(const NumberedEvent& record) = 0;
  /// The oldest that is not sent; empty: all are.
  virtual std::optional<NumberedEvent> Oldest() = 0;
  /// The oldest has been sent.
  virtual void MarkSent() = 0;
  /// How many wait.
  virtual int64_t waiting() const = 0;
  /// The number of the last record that was sent and will not be sent again, also by another run.
  virtual int64_t exported() const { return 0; }
};

/// Keeps what waits in memory. Of too much the oldest are given up, and a record says how many.
class MemoryOutbox : public Outbox {
 public:
  static constexpr size_t kMostBytes = 8 << 20;

  explicit MemoryOutbox(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}
  void Add(const NumberedEvent& record) override;
  std::optional<NumberedEvent> Oldest() override;
  void MarkSent() override;
  int64_t waiting() const override;
  int64_t given_up() const;

 private:
  struct Kept {
    NumberedEvent record;
    size_t bytes;
  };
  const size_t most_bytes_;
  mutable absl::Mutex mutex_;
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;                    // that no record has told of yet
  int64_t given_up_ ABSL_GUARDED_BY(mutex_) = 0;                // of all times
  std::optional<NumberedEvent> taken_ ABSL_GUARDED_BY(mutex_);  // being sent
};

/// Reads what waits from the trail's files, and keeps how far it has come beside them, in
/// PATH.sent: nothing of it is given up, and another run goes on where this one has ended. Records
/// that could not be written wait in memory.
class FileOutbox : public Outbox {
 public:
  /// `newest`: the number of the trail's last record.
  FileOutbox(const std::string& path, int64_t newest);
  ~FileOutbox() override;
  void Add(const NumberedEvent& record) override;
  std::optional<NumberedEvent> Oldest() override;
  void MarkSent() override;
  int64_t waiting() const override;
  int64_t exported() const override { return kept_position_; }

 private:
  void KeepPosition();

  const std::string path_;
  TrailReader reader_;
  std::optional<NumberedEvent> oldest_;  // of the files
  MemoryOutbox unwritten_;
  std::atomic<int64_t> sent_ = 0, newest_ = 0, kept_position_ = 0;
  absl::Time kept_at_ = absl::InfinitePast();
};

}  // namespace isocenter::audit
