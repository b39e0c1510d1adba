#include "server/rpc/single_request_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/addressee.h"

namespace isocenter::rpc {
namespace {

// For a request of at most 2 MiB.
constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

void SingleRequestCall::Begin() {
  permit_ = guard_.Ask(context_, method_.name, method_.least);
  if (!permit_.ok()) return Finish(ToGrpc(permit_.status, context_));
  absl::StatusOr<CallerQuotas::Place> place = guard_.quotas().Enter(permit_.account, method_.kind);
  if (!place.ok()) return Finish(ToGrpc(place.status(), context_));
  place_ = *std::move(place);
  if (!method_.whoever_answers) {
    const absl::Status meant = CheckAddressee(context_, guard_.node_name());
    if (!meant.ok()) return Finish(ToGrpc(meant, context_));
  }
  guard_.reception().Enter(*this, permit_.account, kPatience);
}

void SingleRequestCall::OnReadDone(bool ok) {
  if (received_) return OnNext(ok ? &incoming_ : nullptr);
  if (!guard_.reception().Leave(*this)) return;  // it was turned away
  if (!ok) {
    return Finish(context_.IsCancelled() ? grpc::Status::CANCELLED
                                         : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                                                        "the call ended without a request"));
  }
  const auto bytes = static_cast<int64_t>(incoming_.Length());
  if (bytes > method_.longest) {
    return Finish(
        ToGrpc(absl::InvalidArgumentError(absl::StrCat(
                   "the request has ", bytes, " bytes; legal is at most ", method_.longest)),
               context_));
  }
  const grpc::ByteBuffer request = std::move(incoming_);
  incoming_.Clear();
  received_ = true;
  OnRequest(request);
}

void SingleRequestCall::OnNext(const grpc::ByteBuffer*) {}

void SingleRequestCall::OnCancel() {
  // While it reads, that fails.
  if (guard_.reception().LeaveQueue(*this)) Finish(grpc::Status::CANCELLED);
}

void SingleRequestCall::OnDone() {
  guard_.reception().Leave(*this);
  OnEnd();
}

}  // namespace isocenter::rpc
