// What the information system is still to be told of performed procedure steps, on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/archive/database.h"
#include "server/jobs/procedure_steps.h"

namespace isocenter::archive {

/// One row per step, from its first frame until its job is forgotten. What has been reported done
/// survives a crash. Errors of all functions: those of Database. Thread-safe.
class ProcedureStepQueue {
 public:
  /// One that creates the step with the information system or, once that was sent, ends it.
  struct Message {
    int64_t step = 0;  // ascends in the order of beginning
    std::string job_id;
    bool creates = false;
    std::string data;    // as Begin or End got it
    int rejections = 0;  // of this message, so far
  };

  static absl::StatusOr<std::unique_ptr<ProcedureStepQueue>> Open(
      const std::filesystem::path& file);

  /// Without effect when the job's step is known already.
  absl::Status Begin(const std::string& job_id, const std::string& data, absl::Time now);
  /// Without effect when there is no such step, or its end is known already.
  absl::Status End(const std::string& job_id, const std::string& data);

  /// What is to be sent next of each step, in the order in which they began.
  absl::StatusOr<std::vector<Message>> Next();
  // The answers to a message. Without effect when an operator has dropped the step meanwhile.
  absl::Status MarkSent(const Message& message);
  /// It will be sent again.
  absl::Status MarkRejected(const Message& message, const std::string& why);
  /// Nothing more is sent of the step, unless an operator retries it.
  absl::Status GiveUp(const Message& message, const std::string& why);

  /// Jobs whose step has begun and whose end is not known.
  absl::StatusOr<std::vector<std::string>> InProgress();
  /// Forgets the steps of all other jobs, unless something is still to be sent of them.
  absl::Status KeepOnly(const std::set<std::string>& job_ids);

  // For operators. See jobs::ProcedureStepControl; UIDs are left empty.
  absl::StatusOr<std::vector<jobs::ProcedureStep>> List(
      const std::vector<jobs::ProcedureStepState>& states, int most);
  /// NOT_FOUND: the job has no step.
  absl::StatusOr<jobs::ProcedureStep> Get(const std::string& job_id);
  absl::Status Retry(const std::string& job_id);
  absl::Status Drop(const std::string& job_id);
  /// Steps by state, without those that are done or dropped; a state that is not in it has none.
  /// And when the oldest step began of which a message waits, where that is known.
  struct Length {
    std::map<jobs::ProcedureStepState, int64_t> counts;
    std::optional<absl::Time> oldest;
  };
  absl::StatusOr<Length> Count();

 private:
  explicit ProcedureStepQueue(Database database) : database_(std::move(database)) {}
  absl::StatusOr<std::vector<jobs::ProcedureStep>> Select(const std::string& condition,
                                                          const std::vector<Value>& values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<jobs::ProcedureStep> Find(const std::string& job_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// NOT_FOUND, or FAILED_PRECONDITION where the step's state is in none of `states`.
  absl::Status CheckState(const std::string& job_id,
                          const std::set<jobs::ProcedureStepState>& states)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace isocenter::archive
