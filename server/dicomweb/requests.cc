#include "server/dicomweb/requests.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "server/http/transport/answers.h"

namespace isocenter::dicomweb {
namespace {

constexpr char kAccept[] = "accept";

/// Whether it may stand in an address as a host with a port.
bool IsAuthority(absl::string_view host) {
  constexpr size_t kLongest = 255;
  return !host.empty() && host.size() <= kLongest && std::ranges::all_of(host, [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("-._:[]", c);
  });
}

}  // namespace

absl::Status CheckUid(absl::string_view name, absl::string_view uid) {
  constexpr size_t kLongest = 64;
  const bool is_uid = !uid.empty() && uid.size() <= kLongest &&
                      uid.find_first_not_of("0123456789.") == absl::string_view::npos &&
                      uid.front() != '.' && uid.back() != '.' && !absl::StrContains(uid, "..");
  if (is_uid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is '", uid.substr(0, kLongest + 1),
      "'; legal are numbers with dots between them, of 1 to ", kLongest, " characters in all"));
}

absl::StatusOr<ObjectPath> PathOf(const http::Call& call) {
  ObjectPath path;
  const struct {
    const char* name;
    std::string& uid;
  } parts[] = {{"StudyInstanceUID", path.study},
               {"SeriesInstanceUID", path.series},
               {"SOPInstanceUID", path.instance}};
  for (size_t i = 0; i < std::min(std::size(parts), call.arguments.size()); ++i) {
    ISO_RETURN_IF_ERROR(CheckUid(parts[i].name, call.arguments[i]));
    parts[i].uid = call.arguments[i];
  }
  return path;
}

absl::StatusOr<Form> FormFor(const http::Request& request, std::span<const Form> forms) {
  const std::string text =
      request.Parameter(kAccept).value_or(std::string(request.Header(kAccept)));
  ISO_ASSIGN_OR_RETURN(const std::vector<MediaRange> accepted, ParseAccept(text));
  if (const std::optional<Form> form = Choose(accepted, forms)) return *form;
  return absl::UnimplementedError(
      absl::StrCat("Accept is '", text.substr(0, 400), "'; legal are ",
                   absl::StrJoin(forms, ", ", [](std::string* out, const Form& form) {
                     absl::StrAppend(out, form.Text());
                   })));
}

absl::StatusOr<http::Response> Answered(absl::StatusOr<http::Response> response) {
  if (!absl::IsUnimplemented(response.status())) return response;
  return http::ErrorAnswer(406, absl::InvalidArgumentError(response.status().message()));
}

std::string BaseUrl(const http::Request& request) {
  // Of a proxy that ends TLS. Whoever says something else is told it back, and nobody else is.
  const absl::string_view forwarded = request.Header("x-forwarded-proto");
  const bool secure = request.secure || absl::EqualsIgnoreCase(forwarded, "https");
  const absl::string_view host = request.Header("host");
  if (!IsAuthority(host)) return kRoot;
  return absl::StrCat(secure ? "https" : "http", "://", host, kRoot);
}

std::string UrlOf(absl::string_view base, const ObjectPath& path) {
  std::string url(base);
  if (!path.study.empty()) absl::StrAppend(&url, "/studies/", path.study);
  if (!path.series.empty()) absl::StrAppend(&url, "/series/", path.series);
  if (!path.instance.empty()) absl::StrAppend(&url, "/instances/", path.instance);
  return url;
}

absl::Status CheckParameters(const http::Request& request,
                             const std::vector<absl::string_view>& legal) {
  for (const auto& [name, value] : request.query) {
    if (name == kAccept || std::ranges::count(legal, name) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("parameter '", name.substr(0, 64), "' is not known here; legal are ",
                     absl::StrJoin(legal, ", "), legal.empty() ? "" : ", ", kAccept));
  }
  return absl::OkStatus();
}

void Warn(absl::string_view text, http::Response& response) {
  response.Set("Warning", absl::StrCat("299 isocenter \"", text, "\""));
}

}  // namespace isocenter::dicomweb
