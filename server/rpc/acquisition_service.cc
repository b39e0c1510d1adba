#include "server/rpc/acquisition_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/translation/known_geometry.h"

namespace isocenter::rpc {
namespace {

void Fill(const pipeline::Engine::Quote& quote, const std::string& node,
          v1::AcquisitionQuote& response) {
  response.set_node(node);
  response.set_predicted_finish_seconds(absl::ToDoubleSeconds(quote.forecast.finish));
  response.set_wait_seconds(absl::ToDoubleSeconds(quote.forecast.wait));
  response.set_active_jobs(quote.active_jobs);
  response.set_holds_related_job(quote.holds_related_job);
}

}  // namespace

void AcquisitionService::OnQuoteAcquisition(
    UnaryCall<v1::QuoteAcquisitionRequest, v1::AcquisitionQuote>& call) {
  const auto token = std::make_shared<const CallCounter::Token>(shared_.calls);
  absl::StatusOr<pipeline::AcquisitionRequest> translated =
      [&]() -> absl::StatusOr<pipeline::AcquisitionRequest> {
    ISO_ASSIGN_OR_RETURN(pipeline::AcquisitionRequest wanted,
                         TranslateNew(call.request().header(), shared_));
    wanted.caller = call.permit().identity;
    return wanted;
  }();
  if (!translated.ok()) return call.Answer(translated.status());
  shared_.engine.Predict(
      *std::move(translated), [&call] { return !call.context().IsCancelled(); },
      [this, &call, token](const absl::StatusOr<pipeline::Engine::Quote>& quote) {
        if (quote.ok()) Fill(*quote, shared_.cluster.node_name(), call.response());
        call.Answer(quote.status());
      });
}

void AcquisitionService::OnListNodes(UnaryCall<v1::ListNodesRequest, v1::ListNodesResponse>& call) {
  call.response().set_answered_by(shared_.cluster.node_name());
  *call.response().mutable_node() = shared_.cluster.node();
  call.Answer(absl::OkStatus());
}

}  // namespace isocenter::rpc
