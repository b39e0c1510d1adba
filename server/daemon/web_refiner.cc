#include "server/daemon/web_refiner.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "isocenter/v1/jobs.pb.h"
#include "server/rpc/translation/translate_refinement.h"

namespace isocenter::daemon {
namespace {

/// "os_sart" of REFINEMENT_ALGORITHM_OS_SART.
std::string NameOf(v1::RefinementAlgorithm algorithm) {
  const std::string whole = v1::RefinementAlgorithm_Name(algorithm);
  return absl::AsciiStrToLower(absl::StripPrefix(whole, "REFINEMENT_ALGORITHM_"));
}

http::RefinementOffer OfferOf(const v1::ReconstructionProtocol& protocol) {
  const v1::Refinement& refinement = protocol.refinement();
  http::RefinementOffer offer{.protocol = protocol.name(),
                              .description = protocol.description(),
                              .deadline_seconds = refinement.deadline_seconds()};
  if (refinement.has_second_pass()) {
    const v1::SecondPass& second_pass = refinement.second_pass();
    offer.second_pass = jobs::SecondPassFacts{.metal = second_pass.metal(),
                                              .bone = second_pass.bone(),
                                              .scatter = second_pass.scatter(),
                                              .cone_beam = second_pass.cone_beam(),
                                              .motion = second_pass.motion(),
                                              .self_calibrate = second_pass.self_calibrate(),
                                              .complete_rows = second_pass.complete_rows(),
                                              .reference_job_id = std::nullopt};
    return offer;
  }
  offer.algorithm = NameOf(refinement.algorithm());
  offer.iterations = static_cast<int>(refinement.iterations());
  offer.subsets = static_cast<int>(refinement.subsets());
  return offer;
}

}  // namespace

std::vector<http::RefinementOffer> WebRefiner::Offers() const {
  std::vector<http::RefinementOffer> offers;
  for (const auto& [name, protocol] : protocols_.all()) {
    if (protocol.refinement) offers.push_back(OfferOf(protocol.description));
  }
  return offers;
}

void WebRefiner::Refine(const http::RefinementWish& wish, Done done) {
  v1::RefineJobRequest request;
  request.set_job_id(wish.job_id);
  request.set_protocol(wish.protocol);
  request.set_deadline_seconds(wish.deadline_seconds);
  request.set_request_id(wish.request_id);
  if (wish.phase) {
    request.mutable_phase()->set_phase(*wish.phase);
    request.mutable_phase()->set_width(wish.phase_width);
  }
  const absl::StatusOr<jobs::JobSnapshot> source = table_.Get(wish.job_id);
  if (!source.ok()) return done(source.status());
  absl::StatusOr<pipeline::RefinementRequest> translated =
      rpc::TranslateRefineRequest(request, (*source)->protocol, protocols_);
  if (!translated.ok()) return done(translated.status());
  engine_.Refine(wish.job_id, *std::move(translated), std::move(done));
}

}  // namespace isocenter::daemon
