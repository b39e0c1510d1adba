#include "server/http/router.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"
#include "server/http/transport/other_doors.h"
#include "server/node/job_audit.h"

namespace isocenter::http {
namespace {

constexpr absl::string_view kArgument = "{}";
constexpr absl::string_view kApi = "/api/v1/", kJobs = "/api/v1/jobs/{}";

std::vector<std::string> PartsOf(absl::string_view path) { return absl::StrSplit(path, '/'); }

/// What stands for each {}; empty: another path.
std::optional<std::vector<std::string>> Match(const std::vector<std::string>& pattern,
                                              const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < pattern.size(); ++i) {
    absl::string_view wanted = pattern[i], part = path[i];
    if (!absl::StartsWith(wanted, kArgument)) {
      if (wanted != part) return std::nullopt;
      continue;
    }
    wanted.remove_prefix(kArgument.size());  // a verb: ":cancel"
    if (!absl::EndsWith(part, wanted)) return std::nullopt;
    part.remove_suffix(wanted.size());
    if (part.empty() || absl::StrContains(part, ":")) return std::nullopt;
    arguments.emplace_back(part);
  }
  return arguments;
}

/// Verbs stand behind a colon; in other services behind a slash.
std::string AsVerb(std::string path) {
  if (const size_t slash = path.rfind('/'); slash != std::string::npos) path[slash] = ':';
  return path;
}

bool Changes(const std::string& method) { return method != "GET" && method != "HEAD"; }

absl::Status CheckContentType(const Request& request) {
  if (request.body.empty()) return absl::OkStatus();
  absl::string_view type = request.Header("content-type");
  type = type.substr(0, type.find(';'));
  if (absl::EqualsIgnoreCase(type, "application/json")) return absl::OkStatus();
  return absl::InvalidArgumentError("Content-Type is not application/json");
}

}  // namespace

void Router::Add(std::string method, const std::string& pattern, Role least, Handler handler,
                 std::optional<audit::Action> action) {
  routes_.push_back({std::move(method), pattern, PartsOf(pattern), least, std::move(handler),
                     action, absl::StartsWith(pattern, kJobs)});
}

void Router::AddOpen(std::string method, const std::string& pattern, Handler handler) {
  routes_.push_back({std::move(method), pattern, PartsOf(pattern), std::nullopt, std::move(handler),
                     std::nullopt, false});
}

Response Router::Answer(const Request& request) const {
  const std::vector<std::string> path = PartsOf(request.path);
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::vector<std::string> allowed;
  for (const Route& route : routes_) {
    std::optional<std::vector<std::string>> arguments = Match(route.parts, path);
    if (!arguments) continue;
    if (route.method != method) {
      allowed.push_back(route.method);
      continue;
    }
    audit::Event about;
    absl::StatusOr<Response> answer = Answer(route, {request, *std::move(arguments), {}, about});
    if (answer.ok()) return *std::move(answer);
    // Waiting is the cure where too many sign-ins have failed.
    const absl::Duration wait = access_.RetryAfter(request.remote_address);
    if (absl::IsResourceExhausted(answer.status()) && wait > absl::ZeroDuration()) {
      return ErrorAnswer(429, answer.status())
          .Set("Retry-After",
               absl::StrCat(absl::ToInt64Seconds(absl::Ceil(wait, absl::Seconds(1)))));
    }
    return ErrorAnswer(answer.status());
  }
  if (allowed.empty()) {
    const std::string verb = AsVerb(request.path);
    const auto is_it = [parts = PartsOf(verb)](const Route& route) {
      return Match(route.parts, parts).has_value();
    };
    const bool is_verb = std::ranges::any_of(routes_, is_it);
    return ErrorAnswer(
        absl::NotFoundError(absl::StrCat("there is no ", request.path,
                                         is_verb ? absl::StrCat("; did you mean ", verb, "?")
                                                 : OtherDoor(request.method, request.path))));
  }
  const std::string names = absl::StrJoin(allowed, ", ");
  return ErrorAnswer(405, absl::InvalidArgumentError(
                              absl::StrCat("the method is ", request.method, "; legal is ", names,
                                           OtherDoor(request.method, request.path))))
      .Set("Allow", names);
}

absl::Status Router::Admit(const Route& route, Call& call) const {
  ISO_RETURN_IF_ERROR(CheckContentType(call.request));
  if (!route.least) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(call.caller, access_.Identify(call.request));
  if (call.caller.role < *route.least) {
    return absl::PermissionDeniedError(
        absl::StrCat("the role is ", Name(call.caller.role), "; this needs ", Name(*route.least)));
  }
  if (!Changes(call.request.method)) return absl::OkStatus();
  return access_.CheckOrigin(call.request, call.caller);
}

void Router::Record(audit::Action action, const Call& call, const jobs::JobSnapshot& job,
                    const std::string& job_id, const absl::Status& outcome) const {
  if (recorder_ == nullptr) return;
  jobs::Job unknown;
  unknown.id = job_id;
  if (job_id.empty() && !call.about.job_ids.empty()) unknown.id = call.about.job_ids.front();
  const bool is_known = !call.caller.name.empty() && call.caller.via != Via::kLoopback;
  audit::Event event = node::EventAbout(action,
                                        {.name = call.caller.name,
                                         .address = call.request.remote_address,
                                         .certificate_subject = call.request.certificate_subject,
                                         .is_known = is_known},
                                        "http", job == nullptr ? unknown : *job, outcome);
  event.destination = call.about.destination;
  event.query = call.about.query;
  event.matches = call.about.matches;
  event.instances = call.about.instances;
  // What a handler says of whose data it was, beside those of the job.
  const auto append = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(call.about.patient_ids, event.patient_ids);
  append(call.about.study_uids, event.study_uids);
  if (event.detail.empty()) event.detail = call.about.detail;
  recorder_->Record(std::move(event));
}

void Router::RecordMisdirected(const Request& request, const absl::Status& why) const {
  audit::Event about;
  Record(audit::Action::kCall, {request, {}, {}, about}, nullptr, "", why);
}

void Router::RecordTurnedAway(const Route& route, const Call& call, const jobs::JobSnapshot& job,
                              const absl::Status& why) const {
  const std::string job_id = route.names_job ? call.arguments[0] : "";
  if (absl::IsPermissionDenied(why)) {
    Record(audit::Action::kCall, call, nullptr, job_id, why);
  } else if (absl::IsUnauthenticated(why) && call.request.Header("authorization").empty()) {
    Record(audit::Action::kSignIn, call, nullptr, job_id,
           why);  // tokens are recorded where they are checked
  }
  // What was not to be seen needs no record of its own; what was to be changed does.
  if (route.action && Changes(call.request.method)) {
    Record(*route.action, call, job, job_id, why);
  }
}

absl::StatusOr<Response> Router::Answer(const Route& route, Call call) const {
  jobs::JobSnapshot job;  // as it was before
  const std::string job_id = route.names_job ? call.arguments[0] : "";
  if (!job_id.empty()) job = table_.Get(job_id).value_or(nullptr);
  const absl::Status admitted = Admit(route, call);
  if (!admitted.ok()) {
    RecordTurnedAway(route, call, job, admitted);
    return admitted;
  }
  // Paths of DICOMweb, and those that a provider calls back, have parameters of others.
  if (route.least && absl::StartsWith(route.pattern, kApi)) {
    ISO_RETURN_IF_ERROR(CheckParameterNames(route.pattern, call.request));
  }
  absl::StatusOr<Response> answer = route.handler(call);
  if (!route.action) return answer;
  if (job == nullptr && !call.about.job_ids.empty()) {
    job = table_.Get(call.about.job_ids.front()).value_or(nullptr);
  }
  // HEAD takes nothing away.
  const bool is_answered = answer.ok() && answer->status < 400 && call.request.method != "HEAD";
  if (is_answered || Changes(call.request.method)) {
    Record(*route.action, call, job, job_id, answer.status());
  }
  return answer;
}

}  // namespace isocenter::http
