// What the page orders: sending a volume to a DICOM destination, refining it, a simulated scan.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/http/acceptance.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

// A refinement's frames are read before it is accepted, and a scan is planned: an answer may take
// seconds, and holds a thread. Threads are left for others.
constexpr int kMostWaiting = 2;
constexpr absl::Duration kLongestAcceptance = absl::Seconds(12);

absl::StatusOr<Response> Send(const WebEnvironment& environment, const Call& call) {
  const std::string& id = call.arguments[0];
  ISO_ASSIGN_OR_RETURN(const Json body, BodyOf(call.request, {"destination", "again"}));
  ISO_ASSIGN_OR_RETURN(const std::string destination, TextOf(body, "destination"));
  ISO_ASSIGN_OR_RETURN(const bool again, BooleanOf(body, "again"));
  call.about.destination = destination.substr(0, 64);
  ISO_RETURN_IF_ERROR(environment.table.Get(id).status());
  if (environment.transfers == nullptr) {
    return absl::NotFoundError("no DICOM destination is configured");
  }
  ISO_ASSIGN_OR_RETURN(const int queued, environment.transfers->Send(id, destination, again));
  spdlog::info("event=send_requested job={} destination='{}' by=\"{}\" again={} instances={}", id,
               destination, call.caller.name, again, queued);
  return JsonAnswer({{"job_id", id}, {"destination", destination}, {"newly_queued", queued}});
}

Json OfferJson(const RefinementOffer& offer) {
  return {{"protocol", offer.protocol},
          {"description", TextJson(offer.description)},
          {"algorithm", TextJson(offer.algorithm)},
          {"iterations", offer.iterations > 0 ? Json(offer.iterations) : Json(nullptr)},
          {"subsets", offer.subsets > 0 ? Json(offer.subsets) : Json(nullptr)},
          {"second_pass", SecondPassJson(offer.second_pass)},
          {"deadline_seconds",
           offer.deadline_seconds > 0 ? Json(offer.deadline_seconds) : Json(nullptr)}};
}

absl::StatusOr<Response> Offers(const WebEnvironment& environment, const Call&) {
  Json offers = Json::array();
  if (environment.refiner != nullptr) {
    for (const RefinementOffer& offer : environment.refiner->Offers()) {
      offers.push_back(OfferJson(offer));
    }
  }
  return JsonAnswer({{"refinements", std::move(offers)}});
}

absl::StatusOr<RefinementWish> WishOf(const Call& call) {
  ISO_ASSIGN_OR_RETURN(
      const Json body,
      BodyOf(call.request, {"protocol", "request_id", "deadline_seconds", "phase", "phase_width"}));
  RefinementWish wish{.job_id = call.arguments[0]};
  ISO_ASSIGN_OR_RETURN(wish.protocol, TextOf(body, "protocol"));
  ISO_ASSIGN_OR_RETURN(wish.request_id, TextOf(body, "request_id"));
  ISO_ASSIGN_OR_RETURN(wish.deadline_seconds, NumberOf(body, "deadline_seconds"));
  if (body.contains("phase") && !body["phase"].is_null()) {
    ISO_ASSIGN_OR_RETURN(wish.phase, NumberOf(body, "phase"));
    ISO_ASSIGN_OR_RETURN(wish.phase_width, NumberOf(body, "phase_width"));
  }
  return wish;
}

class RefineApi {
 public:
  explicit RefineApi(const WebEnvironment& environment) : environment_(environment) {}

  absl::StatusOr<Response> Answer(const Call& call) {
    ISO_ASSIGN_OR_RETURN(const RefinementWish wish, WishOf(call));
    ISO_RETURN_IF_ERROR(environment_.table.Get(wish.job_id).status());
    if (environment_.refiner == nullptr) {
      return absl::FailedPreconditionError("this server does not refine");
    }
    ISO_ASSIGN_OR_RETURN(
        const jobs::JobSnapshot job,
        AwaitAcceptance(
            places_, kLongestAcceptance,
            "the frames are still being read; the refinement appears among the jobs "
            "if it is accepted",
            [&](Accepted told) { environment_.refiner->Refine(wish, std::move(told)); }));
    spdlog::info("event=refine_requested job={} refinement={} by=\"{}\"", wish.job_id, job->id,
                 call.caller.name);
    return JsonAnswer(JobJson(*job, std::nullopt));
  }

 private:
  const WebEnvironment environment_;
  Places places_{kMostWaiting, "refinements whose frames are read before they are accepted"};
};

class SimulateApi {
 public:
  explicit SimulateApi(const WebEnvironment& environment) : environment_(environment) {}

  absl::StatusOr<Response> Answer(const Call& call) {
    if (environment_.simulator == nullptr) {
      return absl::FailedPreconditionError(
          "web.simulated_scans is false; the page may start simulated scans where it is true");
    }
    ISO_ASSIGN_OR_RETURN(
        const jobs::JobSnapshot job,
        AwaitAcceptance(places_, kLongestAcceptance,
                        "the scan is still being planned; it appears among the jobs if it is "
                        "accepted",
                        [&](Accepted told) {
                          environment_.simulator->Begin(call.caller.name, std::move(told));
                        }));
    call.about.job_ids.push_back(job->id);
    spdlog::info("event=simulation_requested job={} by=\"{}\"", job->id, call.caller.name);
    return JsonAnswer(JobJson(*job, std::nullopt));
  }

 private:
  const WebEnvironment environment_;
  Places places_{kMostWaiting, "simulated scans that are being planned"};
};

}  // namespace

void AddOrderRoutes(const WebEnvironment& environment, Router& router) {
  router.Add("GET", "/api/v1/refinements", Role::kViewer,
             [environment](const Call& call) { return Offers(environment, call); });
  router.Add(
      "POST", "/api/v1/jobs/{}:refine", Role::kConsole,
      [api = std::make_shared<RefineApi>(environment)](const Call& call) {
        return api->Answer(call);
      },
      audit::Action::kRefine);
  router.Add(
      "POST", "/api/v1/simulations", Role::kConsole,
      [api = std::make_shared<SimulateApi>(environment)](const Call& call) {
        return api->Answer(call);
      },
      audit::Action::kAcquire);
  router.Add(
      "POST", "/api/v1/jobs/{}:send", Role::kOperator,
      [environment](const Call& call) { return Send(environment, call); }, audit::Action::kSend);
}

}  // namespace isocenter::http
