#include "server/pipeline/identity/study_patient.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/jobs/private_error.h"
#include "server/pipeline/reconstruction_job.h"

namespace isocenter::pipeline {
namespace {

bool AreDifferent(const std::string& id, const std::string& other) {
  return !id.empty() && !other.empty() && id != other;
}

/// Whether an acquisition under way is of this study and another patient.
bool IsAcquiredOfAnother(const EngineParts& parts, const jobs::PatientStudy& header) {
  return std::ranges::any_of(parts.active.All<ReconstructionJob>(), [&](const auto& active) {
    const absl::StatusOr<jobs::JobSnapshot> job = parts.table.Get(active->id());
    if (!job.ok()) return false;
    const jobs::PatientStudy& known = (*job)->patient_study;
    return known.study_instance_uid == header.study_instance_uid &&
           AreDifferent(known.patient_id, header.patient_id);
  });
}

}  // namespace

absl::Status CheckStudyPatient(const EngineParts& parts, const jobs::PatientStudy& header) {
  if (header.study_instance_uid.empty() || header.patient_id.empty()) return absl::OkStatus();
  bool is_of_another = IsAcquiredOfAnother(parts, header);
  if (!is_of_another) {
    const absl::StatusOr<std::string> stored =
        parts.results.PatientIdOfStudy(header.study_instance_uid);
    if (absl::IsNotFound(stored.status())) return absl::OkStatus();
    if (!stored.ok()) return stored.status();
    is_of_another = AreDifferent(*stored, header.patient_id);
  }
  if (!is_of_another) return absl::OkStatus();
  return jobs::MarkPrivate(absl::InvalidArgumentError(
      absl::StrCat("patient_study.study_instance_uid is '", header.study_instance_uid,
                   "', which belongs to another patient; legal is a study of this patient, a new "
                   "one, or none")));
}

}  // namespace isocenter::pipeline
