#include "server/node/job_audit.h"

#include <memory>
#include <utility>

namespace isocenter::node {
namespace {

audit::Outcome OutcomeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return audit::Outcome::kSuccess;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kResourceExhausted:
      return audit::Outcome::kRefused;
    case absl::StatusCode::kCancelled:
      return audit::Outcome::kCancelled;
    default:
      return audit::Outcome::kFailure;
  }
}

/// Whose job it is.
void AddSubject(const jobs::Job& job, audit::Event& event) {
  const jobs::PatientStudy& subject = job.patient_study;
  if (!subject.patient_id.empty()) event.patient_ids.push_back(subject.patient_id);
  const bool is_stored = !job.result.study_instance_uid.empty();
  const std::string& study = is_stored ? job.result.study_instance_uid : subject.study_instance_uid;
  if (!study.empty()) event.study_uids.push_back(study);
}

}  // namespace

void SubjectsOfJobs::Record(audit::Event event) {
  if (event.job_ids.size() == 1 && event.patient_ids.empty() && event.study_uids.empty()) {
    const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(event.job_ids.front());
    if (job.ok()) AddSubject(**job, event);
  }
  next_.Record(std::move(event));
}

jobs::JobSnapshot JobNamed(const jobs::JobTable& table, const std::string& id) {
  absl::StatusOr<jobs::JobSnapshot> known = table.Get(id);
  if (known.ok()) return *std::move(known);
  auto unknown = std::make_shared<jobs::Job>();
  unknown->id = id;
  return unknown;
}

audit::Event EventAbout(audit::Action action, const audit::Actor& actor, std::string service,
                        const jobs::Job& job, const absl::Status& outcome) {
  audit::Event event{.action = action,
                     .outcome = OutcomeOf(outcome),
                     .actor = actor,
                     .service = std::move(service)};
  if (!job.id.empty()) event.job_ids.push_back(job.id);
  AddSubject(job, event);
  if (!outcome.ok()) event.detail = outcome.ToString();
  return event;
}

}  // namespace isocenter::node
