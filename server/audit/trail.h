// The audit trail of the service: a file, a repository, or both.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/audit/audit_file.h"
#include "server/audit/event.h"
#include "server/audit/repeats.h"
#include "server/audit/syslog_sender.h"

namespace isocenter::audit {

struct TrailOptions {
  std::optional<FileOptions> file;
  std::optional<SyslogOptions> syslog;
  std::string source = "isocenter";  // names this installation in messages
  RepeatOptions repeats;
};

/// For metrics.
struct TrailState {
  bool has_file = false, has_syslog = false;
  bool is_failing = false;      // the file cannot be written to
  Fill fill;                    // of the files
  int64_t lost = 0;             // records, since the start, that are in no file
  int64_t waiting_to_send = 0;  // records
};

/// Takes records into a bounded queue, from which a thread of its own writes and sends them:
/// whoever records waits for no disk. Thread-safe.
class Trail : public Recorder {
 public:
  /// Bytes of records that wait to be written; those without effect on anybody's data get half.
  static constexpr size_t kMostWaitingBytes = 8 << 20;

  /// Errors: those of AuditFile::Open and SyslogSender::Start.
  static absl::StatusOr<std::unique_ptr<Trail>> Open(TrailOptions options);
  /// Writes what waits, with the counts of what was repeated, and sends it for some seconds.
  ~Trail() override;
  void Record(Event event) override;

  TrailState State() const;

 private:
  explicit Trail(RepeatOptions repeats) : repeats_(repeats) {}
  void Run();
  /// Waits until there is something to write; false: the trail ends and nothing is left.
  bool Await(std::deque<Event>& events);
  void Write(Event event);
  /// The record of what was lost, where something was.
  absl::Status WriteLoss();
  /// Looks at what has happened to the files, and tries again to write of what was lost.
  void Look();
  /// After an attempt to write so many records.
  void Tell(const absl::Status& written, int records);
  bool IsScarce() const;

  // Of the writing thread.
  Repeats repeats_;
  std::optional<AuditFile> file_;
  std::unique_ptr<SyslogSender> syslog_;  // may be null
  int64_t number_ = 0;                    // of the last record, where there is no file
  int64_t untold_ = 0;                    // records lost since the last one was written
  bool was_scarce_ = false;
  absl::Time next_look_ = absl::InfinitePast();

  mutable absl::Mutex mutex_;
  std::deque<Event> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t turned_away_ ABSL_GUARDED_BY(mutex_) = 0;  // for whom the queue had no room
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  TrailState state_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace isocenter::audit
