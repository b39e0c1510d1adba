#include "server/rpc/call_audit.h"

#include <memory>
#include <utility>

#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"

namespace isocenter::rpc {
namespace {

std::string FirstProperty(const grpc::AuthContext& context, const char* name) {
  const auto values = context.FindPropertyValues(name);
  return values.empty() ? std::string() : std::string(values[0].data(), values[0].size());
}

audit::Outcome OutcomeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return audit::Outcome::kSuccess;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
      return audit::Outcome::kRefused;
    case absl::StatusCode::kCancelled:
      return audit::Outcome::kCancelled;
    default:
      return audit::Outcome::kFailure;
  }
}

}  // namespace

audit::Actor ActorOf(const grpc::ServerContextBase& call) {
  audit::Actor actor;
  // As "ipv4:127.0.0.1:4711" or "ipv6:%5B::1%5D:4711".
  const std::string peer = call.peer();
  const size_t colon = peer.find(':');
  actor.address = colon == std::string::npos ? peer : peer.substr(colon + 1);
  const std::shared_ptr<const grpc::AuthContext> context = call.auth_context();
  if (context == nullptr) return actor;
  actor.certificate_subject = FirstProperty(*context, GRPC_X509_SUBJECT_PROPERTY_NAME);
  actor.name = FirstProperty(*context, GRPC_X509_CN_PROPERTY_NAME);
  return actor;
}

void CallAudit::Record(audit::Action action, const audit::Actor& actor, const std::string& job_id,
                       const absl::Status& outcome) const {
  if (recorder_ == nullptr) return;
  const absl::StatusOr<jobs::JobSnapshot> job = table_.Get(job_id);
  if (job.ok()) return Record(action, actor, **job, outcome);
  jobs::Job unknown;
  unknown.id = job_id;
  Record(action, actor, unknown, outcome);
}

void CallAudit::Record(audit::Action action, const audit::Actor& actor, const jobs::Job& job,
                       const absl::Status& outcome) const {
  if (recorder_ == nullptr) return;
  audit::Event event{
      .action = action, .outcome = OutcomeOf(outcome), .actor = actor, .service = "grpc"};
  if (!job.id.empty()) event.job_ids.push_back(job.id);
  const jobs::PatientStudy& subject = job.patient_study;
  if (!subject.patient_id.empty()) event.patient_ids.push_back(subject.patient_id);
  const bool is_stored = !job.result.study_instance_uid.empty();
  const std::string& study = is_stored ? job.result.study_instance_uid : subject.study_instance_uid;
  if (!study.empty()) event.study_uids.push_back(study);
  if (!outcome.ok()) event.detail = outcome.ToString();
  recorder_->Record(std::move(event));
}

}  // namespace isocenter::rpc
