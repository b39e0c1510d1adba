#include "server/http/parameters.h"

#include <algorithm>
#include <map>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/utf8.h"

namespace isocenter::http {
namespace {

using jobs::JobState;

constexpr size_t kShown = 64;  // characters of what was asked for
constexpr JobState kStates[] = {
    JobState::kReceiving, JobState::kReconstructing, JobState::kRefining, JobState::kExporting,
    JobState::kCompleted, JobState::kFailed,         JobState::kCancelled};

uint32_t FilterFingerprint(const Request& request) {
  std::string text;
  for (const auto& [name, value] : request.query) {
    if (name == "page_token" || name == "page_size") continue;
    // Lengths keep neighbours apart.
    absl::StrAppend(&text, name.size(), ":", name, value.size(), ":", value);
  }
  return Crc32c(std::as_bytes(std::span(text)));
}

/// The parameters of /api/v1, by the path's pattern. A path that is not here has none.
const std::map<std::string, std::vector<std::string>>& ParametersByPath() {
  static const auto& names = *new std::map<std::string, std::vector<std::string>>{
      {"/api/v1/calibrations", {"station", "withdrawn", "limit"}},
      {"/api/v1/history", {"seconds", "points"}},
      {"/api/v1/jobs",
       {"state", "protocol", "accession_number", "station_name", "pair_id", "text", "page_size",
        "page_token"}},
      {"/api/v1/jobs/{}/download", {"format"}},
      {"/api/v1/jobs/{}/slices/{}/{}", {"level"}},
      {"/api/v1/quality", {"station", "protocol", "limit"}},
      {"/api/v1/transfers", {"job_id", "destination", "state", "page_size", "page_token"}}};
  return names;
}

/// `none`: what is said where nothing is legal.
absl::Status CheckName(absl::string_view what, const std::string& name,
                       const std::vector<std::string>& legal, absl::string_view none) {
  if (std::ranges::find(legal, name) != legal.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " '", name.substr(0, kShown), "' is not known; ",
                   legal.empty() ? std::string(none) : "legal are " + absl::StrJoin(legal, ", "),
                   DidYouMean(name, legal)));
}

}  // namespace

absl::Status CheckParameterNames(const std::string& pattern, const Request& request) {
  const auto found = ParametersByPath().find(pattern);
  const std::vector<std::string> none;
  const std::vector<std::string>& legal = found == ParametersByPath().end() ? none : found->second;
  for (const auto& [name, value] : request.query) {
    ISO_RETURN_IF_ERROR(CheckName("parameter", name, legal, "this address has none"));
    if (const std::string wrong = NotUtf8(value); !wrong.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", wrong, "; legal is UTF-8, as %XX for each byte"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> IntegerParameter(const Request& request, absl::string_view name, int low,
                                     int high, int otherwise) {
  const std::optional<std::string> text = request.Parameter(name);
  if (!text) return otherwise;
  return IntegerOf(name, *text, low, high);
}

absl::StatusOr<int> IntegerOf(absl::string_view name, absl::string_view text, int low, int high) {
  int value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= low && value <= high) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is '", text, "'; legal is ", low, " to ", high));
}

absl::StatusOr<Json> BodyOf(const Request& request, const std::vector<std::string>& legal) {
  if (request.body.empty()) return Json::object();
  if (const std::string wrong = NotUtf8(request.body); !wrong.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body is ", wrong, "; legal is JSON in UTF-8"));
  }
  Json body = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object()) return absl::InvalidArgumentError("the body is not a JSON object");
  for (const auto& [key, value] : body.items()) {
    ISO_RETURN_IF_ERROR(CheckName("key", key, legal, "this body has none"));
  }
  return body;
}

absl::StatusOr<std::string> TextOf(const Json& body, const std::string& key) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  return absl::InvalidArgumentError(absl::StrCat(key, " is not a text"));
}

absl::StatusOr<double> NumberOf(const Json& body, const std::string& key) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null()) return 0;
  if (found->is_number()) return found->get<double>();
  return absl::InvalidArgumentError(absl::StrCat(key, " is not a number"));
}

absl::StatusOr<bool> BooleanOf(const Json& body, const std::string& key) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null()) return false;
  if (found->is_boolean()) return found->get<bool>();
  return absl::InvalidArgumentError(
      absl::StrCat(key, " is ", found->dump().substr(0, 64), "; legal is true or false"));
}

absl::StatusOr<jobs::JobFilter> FilterOf(const Request& request) {
  jobs::JobFilter filter{.protocol = request.Parameter("protocol").value_or(""),
                         .accession_number = request.Parameter("accession_number").value_or(""),
                         .station_name = request.Parameter("station_name").value_or(""),
                         .pair_id = request.Parameter("pair_id").value_or("")};
  for (const std::string& name : request.List("state")) {
    const size_t before = filter.states.size();
    for (const JobState state : kStates) {
      if (name == jobs::Name(state) || (name == "active" && !jobs::HasEnded(state))) {
        filter.states.push_back(state);
      }
    }
    if (filter.states.size() == before) {
      std::vector<std::string> legal{"active"};
      for (const JobState state : kStates) legal.emplace_back(jobs::Name(state));
      return absl::InvalidArgumentError(absl::StrCat("state is '", name.substr(0, kShown),
                                                     "'; legal are ", absl::StrJoin(legal, ", "),
                                                     DidYouMean(name, legal)));
    }
  }
  return filter;
}

absl::StatusOr<std::string> SearchedText(const Request& request) {
  constexpr size_t kLongestText = 64;
  const std::string text = request.Parameter("text").value_or("");
  if (text.size() <= kLongestText) return absl::AsciiStrToLower(text);
  return absl::InvalidArgumentError(
      absl::StrCat("text has ", text.size(), " bytes; legal is 0 to ", kLongestText));
}

bool HasText(const jobs::Job& job, const std::string& text) {
  for (const std::string* whole :
       {&job.id, &job.station_name, &job.protocol, &job.patient_study.accession_number}) {
    if (absl::StrContains(absl::AsciiStrToLower(*whole), text)) return true;
  }
  return false;
}

std::string EncodePageToken(const jobs::JobCursor& cursor, const Request& request) {
  return absl::WebSafeBase64Escape(absl::StrCat(
      FilterFingerprint(request), " ", absl::ToUnixNanos(cursor.create_time), " ", cursor.id));
}

absl::StatusOr<jobs::JobCursor> DecodePageToken(const Request& request) {
  std::string text;
  uint32_t fingerprint = 0;
  int64_t nanos = 0;
  std::vector<std::string> parts;
  if (absl::WebSafeBase64Unescape(request.Parameter("page_token").value_or(""), &text)) {
    parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  }
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &fingerprint) ||
      !absl::SimpleAtoi(parts[1], &nanos)) {
    return absl::InvalidArgumentError(
        "page_token is not one; legal is next_page_token of an earlier answer");
  }
  if (fingerprint != FilterFingerprint(request)) {
    return absl::InvalidArgumentError(
        "page_token belongs to another filter; legal is the filter of the first page");
  }
  return jobs::JobCursor{absl::FromUnixNanos(nanos), parts[2]};
}

}  // namespace isocenter::http
