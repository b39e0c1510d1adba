// What is on its way to DICOM destinations.
#include <string>

#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

/// Null where the table has the job no longer.
Json TransferJson(const TransferSummary& transfer, const jobs::JobTable& table) {
  const absl::StatusOr<jobs::JobSnapshot> job = table.Get(transfer.job_id);
  const Json order = job.ok() ? TextJson((*job)->patient_study.accession_number) : nullptr;
  return {{"job_id", transfer.job_id},
          {"station_name", job.ok() ? TextJson((*job)->station_name) : nullptr},
          {"protocol", job.ok() ? TextJson((*job)->protocol) : nullptr},
          {"accession_number", order},
          {"job_create_time", job.ok() ? TimeJson((*job)->create_time) : nullptr},
          {"destination", transfer.destination},
          {"state", transfer.state},
          {"instances",
           {{"total", transfer.queued + transfer.sending + transfer.sent + transfer.committed +
                          transfer.failed},
            {"queued", transfer.queued},
            {"sending", transfer.sending},
            {"sent", transfer.sent},
            {"committed", transfer.committed},
            {"failed", transfer.failed},
            {"skipped", transfer.skipped}}},
          {"attempts", transfer.attempts},
          {"message", TextJson(transfer.message)},
          {"storage_commitment", transfer.storage_commitment},
          {"done", transfer.done},
          {"create_time", TimeJson(transfer.create_time)},
          {"update_time", TimeJson(transfer.update_time)}};
}

absl::StatusOr<Response> List(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const int page_size,
                       IntegerParameter(call.request, "page_size", 1, 1000, 50));
  Json destinations = Json::array(), transfers = Json::array(), next = nullptr;
  if (environment.transfers != nullptr) {
    const TransferFilter filter{.job_id = call.request.Parameter("job_id").value_or(""),
                                .destination = call.request.Parameter("destination").value_or(""),
                                .states = call.request.List("state")};
    ISO_ASSIGN_OR_RETURN(const TransferPage page,
                         environment.transfers->List(
                             filter, page_size, call.request.Parameter("page_token").value_or("")));
    for (const TransferSummary& transfer : page.transfers) {
      transfers.push_back(TransferJson(transfer, environment.table));
    }
    next = TextJson(page.next_page_token);
    for (const TransferDestination& destination : environment.transfers->Destinations()) {
      destinations.push_back(
          {{"name", destination.name},
           {"host", TextJson(destination.host)},
           {"port", destination.url.empty() ? Json(destination.port) : nullptr},
           {"url", TextJson(destination.url)},
           {"queued", destination.queued},
           {"sending", destination.sending},
           {"failed", destination.failed},
           {"oldest_seconds", OptionalJson(destination.oldest_seconds)},
           {"reason", TextJson(destination.reason)},
           {"attempts", destination.attempts},
           {"next_try_time", destination.next_try ? TimeJson(*destination.next_try) : nullptr}});
    }
  }
  return JsonAnswer({{"enabled", environment.transfers != nullptr},
                     {"destinations", std::move(destinations)},
                     {"transfers", std::move(transfers)},
                     {"next_page_token", std::move(next)}});
}

absl::StatusOr<Response> Retry(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const Json body, BodyOf(call.request, {"job_id", "destination"}));
  ISO_ASSIGN_OR_RETURN(const std::string job_id, TextOf(body, "job_id"));
  ISO_ASSIGN_OR_RETURN(const std::string destination, TextOf(body, "destination"));
  call.about.job_ids = {job_id};
  call.about.destination = destination;
  if (job_id.empty() && destination.empty()) {
    return absl::InvalidArgumentError("job_id and destination are empty; legal is one or both");
  }
  if (environment.transfers == nullptr) {
    return absl::NotFoundError("no DICOM destination is configured");
  }
  ISO_ASSIGN_OR_RETURN(const int instances, environment.transfers->Retry(job_id, destination));
  spdlog::info("event=retry_requested job={} destination={} instances={} by=\"{}\"", job_id,
               destination, instances, call.caller.name);
  return JsonAnswer({{"instance_count", instances}});
}

absl::StatusOr<Response> TryNow(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const Json body, BodyOf(call.request, {"destination"}));
  ISO_ASSIGN_OR_RETURN(const std::string destination, TextOf(body, "destination"));
  call.about.destination = destination.substr(0, 64);
  if (environment.transfers == nullptr) {
    return absl::NotFoundError("no DICOM destination is configured");
  }
  ISO_ASSIGN_OR_RETURN(const int instances, environment.transfers->TryNow(destination));
  spdlog::info("event=try_now_requested destination='{}' instances={} by=\"{}\"", destination,
               instances, call.caller.name);
  return JsonAnswer({{"instance_count", instances}});
}

}  // namespace

void AddTransferRoutes(const WebEnvironment& environment, Router& router) {
  router.Add("GET", "/api/v1/transfers", Role::kViewer,
             [environment](const Call& call) { return List(environment, call); });
  router.Add(
      "POST", "/api/v1/transfers:retry", Role::kOperator,
      [environment](const Call& call) { return Retry(environment, call); }, audit::Action::kRetry);
  router.Add(
      "POST", "/api/v1/transfers:try_now", Role::kOperator,
      [environment](const Call& call) { return TryNow(environment, call); }, audit::Action::kRetry);
}

}  // namespace isocenter::http
