// A call with one request (or, where a method says so, more), of which nothing is read before it is
// known who calls.
#pragma once

#include <cstdint>

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
/// caller whose role suffices, and who has a place left, in its turn.
class SingleRequestCall : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                          private Reception::Guest {
 public:
  /// What a method's calls have in common; outlives them.
  struct Method {
    const char* name;
    roles::Role least;                       // that may call it; of others no request is read
    int64_t longest = kLongestRequestBytes;  // request
    CallKind kind = CallKind::kOther;
    bool whoever_answers = false;  // also where the call names another node than this one
  };

  SingleRequestCall(const Guard& guard, grpc::CallbackServerContext& context, const Method& method)
      : guard_(guard), context_(context), method_(method) {}

  grpc::CallbackServerContext& context() { return context_; }
  /// Of who may call the method, once its request has been read.
  const Permit& permit() const { return permit_; }

  /// Once, by who gives the call to gRPC, before that.
  void Begin();

 protected:
  /// The request, of a legal length. Once; from now on Finish is the derived class's matter.
  virtual void OnRequest(const grpc::ByteBuffer& request) = 0;
  /// Of a method with a stream of requests, after OnRequest and each OnNext but the last: reads
  /// another, which OnNext gets; null: there is none, or who called has left.
  void ReadNext() { StartRead(&incoming_); }
  virtual void OnNext(const grpc::ByteBuffer* request);
  /// Who called has left; perhaps before OnRequest.
  void OnCancel() override;
  /// gRPC is done with the call.
  virtual void OnEnd() { delete this; }

 private:
  void Receive() override { StartRead(&incoming_); }
  void TurnAway(const absl::Status& why) override { Finish(ToGrpc(why, context_)); }
  void OnReadDone(bool ok) override;
  void OnDone() final;

  const Guard& guard_;
  grpc::CallbackServerContext& context_;
  const Method& method_;
  Permit permit_;
  CallerQuotas::Place place_;
  bool received_ = false;  // the first request
  grpc::ByteBuffer incoming_;
};

}  // namespace isocenter::rpc
