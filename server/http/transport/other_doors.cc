#include "server/http/transport/other_doors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace isocenter::http {
namespace {

constexpr absl::string_view kScans =
    "; scans are sent by gRPC, not by HTTP: `isocenter stream`, or AcquisitionService.Acquire of "
    "--grpc_address (docs/user-guide/console.md)";
constexpr absl::string_view kInstances =
    "; instances are not stored from outside: volumes are made of scans, which are sent by gRPC "
    "(docs/user-guide/console.md)";
constexpr absl::string_view kMetrics =
    "; metrics are at --metrics_address, which is another port (docs/metrics.md)";

constexpr std::pair<absl::string_view, absl::string_view> kProbes[] = {
    {"/health", "/livez or /readyz"},
    {"/healthz", "/livez or /readyz"},
    {"/healthcheck", "/livez or /readyz"},
    {"/ping", "/livez"},
    {"/live", "/livez"},
    {"/liveness", "/livez"},
    {"/ready", "/readyz"},
    {"/readiness", "/readyz"},
    {"/startup", "/startupz"}};

bool IsOneOf(absl::string_view text, std::initializer_list<absl::string_view> names) {
  return std::ranges::find(names, text) != names.end();
}

absl::string_view ProbeMeant(absl::string_view path) {
  const auto found =
      std::ranges::find_if(kProbes, [path](const auto& probe) { return probe.first == path; });
  return found == std::end(kProbes) ? absl::string_view() : found->second;
}

}  // namespace

std::string OtherDoor(absl::string_view method, absl::string_view path) {
  path = absl::StripSuffix(path, "/");
  const absl::string_view last = path.substr(std::min(path.rfind('/') + 1, path.size()));
  const bool api = absl::StartsWith(path, "/api/");
  const bool sends = method == "POST" || method == "PUT";
  if (api &&
      IsOneOf(last, {"acquisitions", "scans", "frames", "projections", "upload", "stream"})) {
    return std::string(kScans);
  }
  if (api && sends && last == "jobs") return std::string(kScans);
  if (sends && absl::StrContains(path, "/studies")) return std::string(kInstances);
  if (method == "DELETE" && last == "jobs")
    return "; one job is deleted by DELETE /api/v1/jobs/{id}";
  if (path == "/metrics") return std::string(kMetrics);
  if (const absl::string_view probe = ProbeMeant(path); !probe.empty()) {
    return absl::StrCat("; did you mean ", probe, "?");
  }
  if (api && !absl::StartsWith(path, "/api/v1/")) {
    return "; paths of this version begin with /api/v1/ (docs/web-api.md)";
  }
  return "";
}

bool IsForPrograms(absl::string_view path) {
  return path == "/metrics" || !ProbeMeant(path).empty();
}

}  // namespace isocenter::http
