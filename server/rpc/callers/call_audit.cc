#include "server/rpc/callers/call_audit.h"

#include <memory>

#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"
#include "server/node/job_audit.h"

namespace isocenter::rpc {
namespace {

std::string FirstProperty(const grpc::AuthContext& context, const char* name) {
  const auto values = context.FindPropertyValues(name);
  return values.empty() ? std::string() : std::string(values[0].data(), values[0].size());
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
  recorder_->Record(node::EventAbout(action, actor, "grpc", job, outcome));
}

}  // namespace isocenter::rpc
