#include "server/rpc/acquisition_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/addressee.h"
#include "server/rpc/translation/status_translation.h"
#include "server/rpc/translation/translate_header.h"
#include "server/scheduler/retry_after.h"

namespace isocenter::rpc {
namespace {

/// A quote under way. Holds the call until it is answered.
struct Quoting {
  Quoting(CallCounter& counter, grpc::CallbackServerContext* context)
      : token(counter), call(context) {}
  const CallCounter::Token token;
  grpc::CallbackServerContext* const call;
};

void Fill(const pipeline::Engine::Quote& quote, const std::string& node,
          v1::AcquisitionQuote& response) {
  response.set_node(node);
  response.set_predicted_finish_seconds(absl::ToDoubleSeconds(quote.forecast.finish));
  response.set_wait_seconds(absl::ToDoubleSeconds(quote.forecast.wait));
  response.set_active_jobs(quote.active_jobs);
  response.set_holds_related_job(quote.holds_related_job);
}

}  // namespace

grpc::ServerUnaryReactor* AcquisitionService::QuoteAcquisition(
    grpc::CallbackServerContext* call, const v1::QuoteAcquisitionRequest* request,
    v1::AcquisitionQuote* response) {
  grpc::ServerUnaryReactor* const reactor = call->DefaultReactor();
  const auto quoting = std::make_shared<const Quoting>(quotes_, call);
  absl::StatusOr<pipeline::AcquisitionRequest> translated =
      [&]() -> absl::StatusOr<pipeline::AcquisitionRequest> {
    const Permit permit = shared_.guard.Ask(*call, roles::Role::kConsole);
    ISO_RETURN_IF_ERROR(permit.status);
    if (quoting->token.number() > shared_.max_streams) {
      return absl::ResourceExhaustedError(
          absl::StrCat("1 quote is asked for; 0 are free of ", shared_.max_streams));
    }
    ISO_RETURN_IF_ERROR(CheckAddressee(*call, shared_.cluster.node_name()));
    ISO_ASSIGN_OR_RETURN(
        pipeline::AcquisitionRequest wanted,
        TranslateHeader(request->header(), shared_.protocols, shared_.max_message_bytes));
    wanted.caller = permit.identity;
    return wanted;
  }();
  if (!translated.ok()) {
    reactor->Finish(ToGrpc(translated.status()));
    return reactor;
  }
  shared_.engine.Predict(
      *std::move(translated), [quoting] { return !quoting->call->IsCancelled(); },
      [this, quoting, reactor, response](const absl::StatusOr<pipeline::Engine::Quote>& quote) {
        if (quote.ok()) {
          Fill(*quote, shared_.cluster.node_name(), *response);
        } else {
          AddRetryAfter(scheduler::RetryAfter(quote.status()), *quoting->call);
        }
        reactor->Finish(ToGrpc(quote.status()));
      });
  return reactor;
}

grpc::ServerUnaryReactor* AcquisitionService::ListNodes(grpc::CallbackServerContext* call,
                                                        const v1::ListNodesRequest*,
                                                        v1::ListNodesResponse* response) {
  const Permit permit = shared_.guard.Ask(*call, roles::Role::kViewer);
  if (permit.ok()) {
    response->set_answered_by(shared_.cluster.node_name());
    *response->mutable_node() = shared_.cluster.node();
  }
  return Answer(call, permit.status);
}

}  // namespace isocenter::rpc
