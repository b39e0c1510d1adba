// The port to the node that keeps copies of this node's frames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/jobs/frame_spool.h"
#include "server/replicas/replica.h"

namespace isocenter::replicas {

/// The copy of one job on its way. Begin first; then one thread sends, and one waits. Each call may
/// block until Cancel; after an error every call fails.
class ReplicaStream {
 public:
  virtual ~ReplicaStream() = default;
  /// For each frame, whether the keeper has it, or has it as a gap. Errors: the keeper's;
  /// UNAVAILABLE (it is not reached).
  virtual absl::StatusOr<std::vector<bool>> Begin(const ReplicaHeader& header) = 0;
  virtual absl::Status SendFrame(int index, std::string pixels,
                                 const jobs::FrameMeasurement& measurement) = 0;
  virtual absl::Status SendGap(int index) = 0;
  virtual absl::Status SendFinish() = 0;
  /// The next frame or gap that the keeper has taken. Errors: that with which the stream ended.
  virtual absl::StatusOr<int> AwaitKept() = 0;
  /// From any thread, any number of times.
  virtual void Cancel() = 0;
};

/// Thread-safe.
class Keeper {
 public:
  virtual ~Keeper() = default;
  virtual std::unique_ptr<ReplicaStream> Open() = 0;
  /// That this node lives, and which of its jobs need their copies. Errors: the keeper's;
  /// UNAVAILABLE, DEADLINE_EXCEEDED.
  virtual absl::Status Report(const Origin& origin, const std::vector<std::string>& jobs) = 0;
};

}  // namespace isocenter::replicas
