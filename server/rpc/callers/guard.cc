#include "server/rpc/callers/guard.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/node/job_audit.h"
#include "server/rpc/callers/proxied_caller.h"

namespace isocenter::rpc {
namespace {

std::string FirstProperty(const grpc::AuthContext& context, const char* name) {
  const auto values = context.FindPropertyValues(name);
  return values.empty() ? std::string() : std::string(values[0].data(), values[0].size());
}

/// Address of a call's client, and the subject of its certificate where it has shown one.
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

absl::Status NotKnown() {
  return absl::UnauthenticatedError(
      "the token of metadata 'authorization' is not known; legal is 'Bearer TOKEN' with one of the "
      "server's tokens, or of its identity provider's");
}

/// Without the port, which is another one for every connection.
std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

}  // namespace

void Permit::Record(audit::Action action, const jobs::Job& job, const absl::Status& outcome,
                    const std::function<void(audit::Event&)>& more) const {
  if (recorder == nullptr) return;
  audit::Event event = node::EventAbout(action, actor, "grpc", job, outcome);
  if (more != nullptr) more(event);
  recorder->Record(std::move(event));
}

Permit Guard::Ask(const grpc::ServerContextBase& call, const char* method,
                  roles::Role least) const {
  Permit permit{.actor = ActorOf(call), .recorder = recorder_};
  permit.status = Identify(call, permit.actor);
  const std::string& subject = permit.actor.certificate_subject;
  permit.account =
      subject.empty() ? HostOf(permit.actor.address) : absl::StrCat("certificate ", subject);
  if (permit.ok() && roster_ != nullptr && !roster_->is_open()) {
    permit.status = Check(call, least, permit);
  }
  permit.actor.is_known = !permit.identity.empty();
  if (permit.actor.is_known) permit.account = permit.identity;
  if (permit.ok()) return permit;
  permit.Record(permit.actor.is_known ? audit::Action::kCall : audit::Action::kSignIn, jobs::Job(),
                permit.refusal ? permit.refusal->record : permit.status, [&](audit::Event& event) {
                  event.detail = absl::StrCat(method, ": ", event.detail);
                  if (permit.refusal) event.query = {roles::RefusalKey(*permit.refusal)};
                });
  // Nobody is made to wait, as on the web: through a proxy all consoles have one address, and
  // tokens cannot be guessed. The log is what has to be spared.
  const std::string host = HostOf(permit.actor.address);
  const absl::Time now = clock_();
  if (logged_.Wait(host, now) == absl::ZeroDuration()) {
    spdlog::warn("event=call_refused address={} name=\"{}\" why=\"{}\"", permit.actor.address,
                 permit.actor.name, std::string(permit.status.message()));
  }
  logged_.OnFailure(host, now);
  return permit;
}

absl::Status Guard::Identify(const grpc::ServerContextBase& call, audit::Actor& actor) const {
  const std::shared_ptr<const grpc::AuthContext> context = call.auth_context();
  if (context == nullptr || !context->IsPeerAuthenticated() ||
      std::ranges::find(proxies_, actor.certificate_subject) == proxies_.end()) {
    return absl::OkStatus();
  }
  ISO_ASSIGN_OR_RETURN(actor, ProxiedCaller(call.client_metadata()));
  return absl::OkStatus();
}

absl::Status Guard::Check(const grpc::ServerContextBase& call, roles::Role least,
                          Permit& permit) const {
  std::optional<roles::Role> role;
  const auto& metadata = call.client_metadata();
  if (const auto given = metadata.find(kTokenMetadata); given != metadata.end()) {
    const absl::string_view token =
        roles::BearerToken(absl::string_view(given->second.data(), given->second.size()));
    if (token.empty()) return NotKnown();
    roles::TokenCheck check = roster_->CheckToken(token, clock_());
    if (!check.holder) {
      permit.refusal = std::move(check.refusal);
      if (absl::IsUnauthenticated(permit.refusal->answer)) return NotKnown();
      return permit.refusal->answer;
    }
    role = check.holder->role;
    permit.identity = check.holder->identity();
    permit.actor.name = std::move(check.holder->name);
  } else if (call.auth_context() != nullptr && call.auth_context()->IsPeerAuthenticated()) {
    const std::string& subject = permit.actor.certificate_subject;
    role = roster_->FindCertificate(subject).value_or(roles::Role::kConsole);
    permit.identity = absl::StrCat("certificate ", subject);
  }
  if (!role) {
    return absl::UnauthenticatedError(
        "the call has neither a token (metadata 'authorization': 'Bearer TOKEN'; isocenter "
        "--token-file) nor a client certificate");
  }
  if (*role >= least) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the role is ", Name(*role), "; this needs ", Name(least)));
}

}  // namespace isocenter::rpc
