// What the information system is still to be told of acquisitions: the port through which operators
// see it and step in.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/jobs/names.h"

namespace isocenter::jobs {

enum class ProcedureStepState {
  kBeginning,   // its beginning is to be sent
  kInProgress,  // that was taken; the job has not ended
  kEnding,      // its end is to be sent
  kDone,        // both were taken
  kFailed,      // refused for good
  kDropped      // given up by an operator
};
constexpr auto NamesOf(ProcedureStepState) {
  return std::to_array<absl::string_view>(
      {"beginning", "in_progress", "ending", "done", "failed", "dropped"});
}

struct ProcedureStep {
  std::string job_id, sop_instance_uid;
  ProcedureStepState state = ProcedureStepState::kBeginning;
  int rejections = 0;                    // of the message that is due
  std::string reason;                    // why it waits or has failed; empty: nothing went wrong
  std::optional<absl::Time> begin_time;  // when it was reported first, where that is known
};

/// Thread-safe. Errors of all functions besides those named: of the disk.
class ProcedureStepControl {
 public:
  virtual ~ProcedureStepControl() = default;
  /// Newest first, at most `most`; an empty list means what is neither done nor dropped.
  virtual absl::StatusOr<std::vector<ProcedureStep>> List(
      const std::vector<ProcedureStepState>& states, int most) = 0;
  /// Sends what is due of a step now, also where it was refused for good. Errors: NOT_FOUND (no
  /// such step), FAILED_PRECONDITION (nothing is to be sent of it).
  virtual absl::StatusOr<ProcedureStep> Retry(const std::string& job_id) = 0;
  /// Sends nothing more of a step. Errors: as Retry.
  virtual absl::StatusOr<ProcedureStep> Drop(const std::string& job_id) = 0;
};

}  // namespace isocenter::jobs
