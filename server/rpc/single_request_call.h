// A call with one request, of which nothing is read before it is known who calls.
#pragma once

#include <cstdint>
#include <functional>

#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/callers/caller_quotas.h"
#include "server/rpc/callers/guard.h"
#include "server/rpc/callers/reception.h"
#include "server/rpc/message_limits.h"
#include "server/rpc/translation/status_translation.h"

namespace isocenter::rpc {

/// gRPC reads the request of a call with one request by itself, whatever its length and whoever
/// sends it. So for gRPC these are calls with streams of requests, of which one is read: of a
/// caller who has a role, whatever it is, and has a place left, in its turn.
class SingleRequestCall : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          private Reception::Guest {
 public:
  /// What a method's calls have in common; outlives them.
  struct Method {
    int64_t longest = kLongestRequestBytes;  // request
    CallKind kind = CallKind::kOther;
    /// Told of calls by nobody, whose request is not read. May be empty.
    std::function<void(const Permit& permit)> on_stranger;
  };

  SingleRequestCall(const Guard& guard, grpc::CallbackServerContext& context, const Method& method)
      : guard_(guard), context_(context), method_(method) {}

  grpc::CallbackServerContext& context() { return context_; }

  /// Once, by who gives the call to gRPC, before that.
  void Begin();

 protected:
  /// The request, of a legal length. Once; from now on Finish is the derived class's matter.
  virtual void OnRequest(const grpc::ByteBuffer& request) = 0;
  /// Who called has left; perhaps before OnRequest.
  void OnCancel() override;
  /// gRPC is done with the call.
  virtual void OnEnd() { delete this; }

  const Guard& guard() const { return guard_; }
  /// Of who may call something; what he may call is the method's matter.
  const Permit& permit() const { return permit_; }

 private:
  void Receive() override { StartRead(&incoming_); }
  void TurnAway(const absl::Status& why) override { Finish(ToGrpc(why)); }
  void OnReadDone(bool ok) override;
  void OnDone() final;

  const Guard& guard_;
  grpc::CallbackServerContext& context_;
  const Method& method_;
  Permit permit_;
  CallerQuotas::Place place_;
  grpc::ByteBuffer incoming_;
};

}  // namespace isocenter::rpc
