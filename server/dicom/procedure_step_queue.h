// What the information system is still to be told of performed procedure steps, on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/database.h"

namespace isocenter::dicom {

/// One row per step, from its first frame until its job is forgotten. What has been reported done
/// survives a crash. Errors of all functions: those of archive::Database. Not thread-safe.
class ProcedureStepQueue {
 public:
  /// An N-CREATE or, once that was sent, an N-SET.
  struct Message {
    int64_t step = 0;  // ascends in the order of beginning
    std::string job_id;
    bool creates = false;
    std::string data;    // for DecodeDataSet
    int rejections = 0;  // of this message, so far
  };

  static absl::StatusOr<ProcedureStepQueue> Open(const std::filesystem::path& file);

  /// Without effect when the job's step is known already.
  absl::Status Begin(const std::string& job_id, const std::string& data);
  /// Without effect when there is no such step, or its end is known already.
  absl::Status End(const std::string& job_id, const std::string& data);

  /// What is to be sent next of each step, in the order in which they began.
  absl::StatusOr<std::vector<Message>> Next();
  absl::Status MarkSent(const Message& message);
  /// It will be sent again.
  absl::Status MarkRejected(const Message& message);
  /// Nothing more is sent of the step.
  absl::Status GiveUp(const Message& message, const std::string& why);

  /// Jobs whose step has begun and not ended.
  absl::StatusOr<std::vector<std::string>> InProgress();
  /// Forgets the steps of all other jobs, unless something is still to be sent of them.
  absl::Status KeepOnly(const std::set<std::string>& job_ids);

 private:
  explicit ProcedureStepQueue(archive::Database database) : database_(std::move(database)) {}
  archive::Database database_;
};

}  // namespace isocenter::dicom
