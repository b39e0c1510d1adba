#include "server/jobs/job.h"

#include <algorithm>
#include <cctype>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace isocenter::jobs {

absl::string_view Name(JobState state) {
  switch (state) {
    case JobState::kReceiving:
      return "receiving";
    case JobState::kReconstructing:
      return "reconstructing";
    case JobState::kRefining:
      return "refining";
    case JobState::kExporting:
      return "exporting";
    case JobState::kCompleted:
      return "completed";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

absl::string_view Name(JobClass job_class) {
  switch (job_class) {
    case JobClass::kLive:
      return "live";
    case JobClass::kInteractive:
      return "interactive";
    case JobClass::kBatch:
      return "batch";
  }
  return "unknown";
}

absl::string_view Name(WarningKind kind) {
  switch (kind) {
    case WarningKind::kFrameGap:
      return "frame_gap";
    case WarningKind::kLateFrame:
      return "late_frame";
    case WarningKind::kSaturatedDetector:
      return "saturated_detector";
    case WarningKind::kDeadDetector:
      return "dead_detector";
    case WarningKind::kDoseDip:
      return "dose_dip";
    case WarningKind::kMatrixJump:
      return "matrix_jump";
    case WarningKind::kShortArc:
      return "short_arc";
    case WarningKind::kDeviceReplaced:
      return "device_replaced";
    case WarningKind::kStoppedEarly:
      return "stopped_early";
    case WarningKind::kWorklistMismatch:
      return "worklist_mismatch";
    case WarningKind::kWorklistUnavailable:
      return "worklist_unavailable";
  }
  return "unknown";
}

absl::string_view Name(CancelReason reason) {
  switch (reason) {
    case CancelReason::kUnspecified:
      return "unspecified";
    case CancelReason::kDoctorCanceled:
      return "doctor_canceled";
    case CancelReason::kEquipmentFailure:
      return "equipment_failure";
    case CancelReason::kIncorrectProcedure:
      return "incorrect_procedure";
    case CancelReason::kPatientRefused:
      return "patient_refused";
    case CancelReason::kPatientTakenForTreatment:
      return "patient_taken_for_treatment";
    case CancelReason::kIncorrectSide:
      return "incorrect_side";
    case CancelReason::kIncorrectWorklistEntry:
      return "incorrect_worklist_entry";
    case CancelReason::kPatientCondition:
      return "patient_condition";
  }
  return "unknown";
}

absl::string_view Name(PairRole role) {
  switch (role) {
    case PairRole::kNone:
      return "none";
    case PairRole::kMask:
      return "mask";
    case PairRole::kFill:
      return "fill";
    case PairRole::kSubtraction:
      return "subtraction";
  }
  return "unknown";
}

bool IsLegalTransition(JobState from, JobState to) {
  if (HasEnded(from)) return false;
  if (to == JobState::kFailed || to == JobState::kCancelled) return true;
  // After a restart a job begins again with its spool.
  if (to == JobState::kReceiving) return true;
  switch (from) {
    case JobState::kReceiving:
      return to == JobState::kReconstructing;
    case JobState::kReconstructing:
      return to == JobState::kRefining || to == JobState::kExporting;
    case JobState::kRefining:
      return to == JobState::kExporting;
    case JobState::kExporting:
      return to == JobState::kCompleted;
    default:
      return false;
  }
}

std::string NewJobId(absl::Time now) {
  std::random_device entropy;
  return absl::StrFormat("%s-%08x", absl::FormatTime("%Y%m%dT%H%M%S", now, absl::UTCTimeZone()),
                         entropy());
}

absl::Status CheckJobId(const std::string& id) {
  const bool legal =
      !id.empty() && id.size() <= 64 &&
      std::all_of(id.begin(), id.end(),
                  [](unsigned char c) {
                    return c < 0x80 && (std::isalnum(c) || c == '_' || c == '.' || c == '-');
                  }) &&
      id.find_first_not_of('.') != std::string::npos;
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("job id '", id, "': legal is 1 to 64 of [A-Za-z0-9_.-], not dots only"));
}

}  // namespace isocenter::jobs
