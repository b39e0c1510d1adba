// Jobs: listing, one of them, its trace and preview, cancelling, deleting.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/base/log.h"
#include "server/crypto/digests.h"
#include "server/http/apis.h"
#include "server/http/job_json.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

Json JsonOf(const WebEnvironment& environment, const jobs::Job& job) {
  return JobJson(job, environment.feed.FramesPerSecond(job.id));
}

/// Jobs that are read from the table at once, whose lock others wait for.
constexpr int kBlock = 1000;

/// The next jobs that have the text, newest first.
std::vector<jobs::JobSnapshot> Listed(const jobs::JobTable& table, const jobs::JobFilter& filter,
                                      const std::string& text,
                                      std::optional<jobs::JobCursor> cursor, int most) {
  if (text.empty()) return table.List(filter, cursor, most);
  std::vector<jobs::JobSnapshot> found;
  while (true) {
    const std::vector<jobs::JobSnapshot> block = table.List(filter, cursor, kBlock);
    for (const jobs::JobSnapshot& job : block) {
      if (!HasText(*job, text)) continue;
      found.push_back(job);
      if (static_cast<int>(found.size()) == most) return found;
    }
    if (static_cast<int>(block.size()) < kBlock) return found;
    cursor = jobs::JobCursor{block.back()->create_time, block.back()->id};
  }
}

/// What jobs can be filtered by: rooms and protocols of the newest of them.
absl::StatusOr<Response> Filters(const WebEnvironment& environment, const Call&) {
  constexpr int kBlocks = 10;
  constexpr size_t kMostNames = 200;
  std::set<std::string> rooms, protocols;
  std::optional<jobs::JobCursor> cursor;
  for (int i = 0; i < kBlocks; ++i) {
    const std::vector<jobs::JobSnapshot> block = environment.table.List({}, cursor, kBlock);
    for (const jobs::JobSnapshot& job : block) {
      if (!job->station_name.empty() && rooms.size() < kMostNames) rooms.insert(job->station_name);
      if (protocols.size() < kMostNames) protocols.insert(job->protocol);
    }
    if (static_cast<int>(block.size()) < kBlock) break;
    cursor = jobs::JobCursor{block.back()->create_time, block.back()->id};
  }
  return JsonAnswer({{"station_names", rooms}, {"protocols", protocols}});
}

absl::StatusOr<Response> List(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const int page_size,
                       IntegerParameter(call.request, "page_size", 1, 1000, 50));
  ISO_ASSIGN_OR_RETURN(const jobs::JobFilter filter, FilterOf(call.request));
  std::optional<jobs::JobCursor> cursor;
  if (call.request.Parameter("page_token")) {
    ISO_ASSIGN_OR_RETURN(cursor, DecodePageToken(call.request));
  }
  ISO_ASSIGN_OR_RETURN(const std::string text, SearchedText(call.request));
  std::vector<jobs::JobSnapshot> page =
      Listed(environment.table, filter, text, std::move(cursor), page_size + 1);
  const bool more = static_cast<int>(page.size()) > page_size;
  if (more) page.pop_back();
  Json jobs = Json::array();
  for (const jobs::JobSnapshot& job : page) jobs.push_back(JsonOf(environment, *job));
  call.about.query.push_back("jobs");
  Json next = nullptr;
  if (more) next = EncodePageToken({page.back()->create_time, page.back()->id}, call.request);
  return JsonAnswer({{"jobs", std::move(jobs)}, {"next_page_token", std::move(next)}});
}

/// The job whose frames a refinement uses; any other one itself.
const std::string& RootOf(const jobs::Job& job) {
  return jobs::IsRefinement(job) ? job.source_job_ids.front() : job.id;
}

/// What another job is to those around `root`; empty: nothing.
std::string RelationOf(const jobs::Job& other, const jobs::Job& root) {
  if (jobs::IsRefinement(other)) return RootOf(other) == root.id ? "refined" : "";
  if (!root.pair_id.empty() && other.pair_id == root.pair_id) {
    return std::string(jobs::Name(other.pair_role));
  }
  return other.id == root.id ? "fdk" : "";
}

/// What tells refinements of one scan apart.
Json BriefRefinement(const jobs::Job& job) {
  const Json whole = RefinementJson(job);
  if (whole.is_null()) return nullptr;
  return {{"algorithm", whole["algorithm"]},
          {"iterations", job.progress.iterations_done},
          {"second_pass", whole["second_pass"]},
          {"phase", whole["phase"]}};
}

Json RelatedJson(const WebEnvironment& environment, const jobs::Job& job) {
  constexpr int kNewest = 1000;
  Json related = Json::array();
  const absl::StatusOr<jobs::JobSnapshot> root = environment.table.Get(RootOf(job));
  if (!root.ok()) return related;
  std::vector<jobs::JobSnapshot> others = environment.table.List({}, std::nullopt, kNewest);
  const auto is_root = [&](const jobs::JobSnapshot& other) { return other->id == (*root)->id; };
  if (std::ranges::none_of(others, is_root)) others.push_back(*root);  // an old one
  for (const jobs::JobSnapshot& other : others) {
    if (other->id == job.id || !(other->grid == job.grid)) continue;
    std::string relation = RelationOf(*other, **root);
    if (relation.empty()) continue;
    related.push_back({{"job_id", other->id},
                       {"relation", std::move(relation)},
                       {"state", std::string(jobs::Name(other->state))},
                       {"protocol", other->protocol},
                       {"create_time", TimeJson(other->create_time)},
                       {"refinement", BriefRefinement(*other)}});
  }
  return related;
}

absl::StatusOr<Response> Get(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment.table.Get(call.arguments[0]));
  Json json = JsonOf(environment, *job);
  AddDetails(*job, json);
  json["related"] = RelatedJson(environment, *job);
  return JsonAnswer(json);
}

/// 304 when the browser has it.
Response WithTag(const Request& request, std::string tag, Response response) {
  tag = absl::StrCat("\"", tag, "\"");
  if (Matches(request.Header("if-none-match"), tag)) response = {.status = 304};
  return response.Set("ETag", tag).Set("Cache-Control", "private, no-cache");
}

absl::StatusOr<Response> Trace(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(std::string trace, environment.table.TraceOf(call.arguments[0]));
  const std::string digest = crypto::Sha256Hex(trace).substr(0, 16);
  Response response{.body = std::move(trace)};
  response.Set("Content-Type", "application/json").Set("Vary", "Accept-Encoding");
  const bool packed = call.request.AcceptsGzip();
  if (packed) Compress(response);
  return WithTag(call.request, absl::StrCat(digest, packed ? "-gzip" : ""), std::move(response));
}

absl::StatusOr<Response> GetPreview(const WebEnvironment& environment, const Call& call) {
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment.table.Get(call.arguments[0]));
  if (job->preview == nullptr) {
    return absl::NotFoundError(absl::StrCat("job '", job->id, "' has no preview"));
  }
  return WithTag(call.request, absl::StrCat(job->id, "-", job->preview->frames_backprojected),
                 JsonAnswer(PreviewJson(*job->preview)));
}

absl::StatusOr<Response> Cancel(const WebEnvironment& environment, const Call& call) {
  const std::string& id = call.arguments[0];
  ISO_RETURN_IF_ERROR(environment.engine.Cancel(
      id, absl::CancelledError(absl::StrCat("the job was cancelled by ", call.caller.name))));
  spdlog::info("event=cancel_requested job={} by=\"{}\"", id, call.caller.name);
  ISO_ASSIGN_OR_RETURN(const jobs::JobSnapshot job, environment.table.Get(id));
  return JsonAnswer(JsonOf(environment, *job));
}

absl::StatusOr<Response> Delete(const WebEnvironment& environment, const Call& call) {
  const std::string& id = call.arguments[0];
  if (environment.transfers != nullptr) {
    ISO_RETURN_IF_ERROR(environment.transfers->CheckDelivered(id));
  }
  ISO_RETURN_IF_ERROR(environment.table.Delete(id));
  spdlog::info("event=job_deleted job={} by=\"{}\"", id, call.caller.name);
  return Response{.status = 204};
}

}  // namespace

void AddJobRoutes(const WebEnvironment& environment, Router& router) {
  const auto add = [&](const char* method, const char* pattern, Role least,
                       absl::StatusOr<Response> (*handler)(const WebEnvironment&, const Call&),
                       audit::Action action) {
    router.Add(
        method, pattern, least,
        [environment, handler](const Call& call) { return handler(environment, call); }, action);
  };
  using audit::Action;
  add("GET", "/api/v1/jobs", Role::kViewer, List, Action::kQuery);
  router.Add("GET", "/api/v1/filters", Role::kViewer,
             [environment](const Call& call) { return Filters(environment, call); });
  add("GET", "/api/v1/jobs/{}", Role::kViewer, Get, Action::kView);
  add("GET", "/api/v1/jobs/{}/trace", Role::kViewer, Trace, Action::kView);
  add("GET", "/api/v1/jobs/{}/preview", Role::kViewer, GetPreview, Action::kView);
  add("POST", "/api/v1/jobs/{}:cancel", Role::kConsole, Cancel, Action::kCancel);
  add("DELETE", "/api/v1/jobs/{}", Role::kAdministrator, Delete, Action::kDelete);
}

}  // namespace isocenter::http
