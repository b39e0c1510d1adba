#include "server/daemon/job_traces.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"
#include "server/crypto/certificates.h"
#include "server/traces/collector.h"

namespace isocenter::daemon {
namespace {

constexpr size_t kMostHeaders = 16;
constexpr uint64_t kMostHeaderBytes = 64 << 10;

// "Name: value" of visible characters: nothing that would begin another line of the request.
bool IsHeader(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == line.npos) return false;
  const auto is_token = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  };
  const auto is_value = [](char c) { return c >= ' ' && c <= '~'; };
  return std::ranges::all_of(line.substr(0, colon), is_token) &&
         std::ranges::all_of(line.substr(colon), is_value);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadTraceHeaders(const v1::TracesConfig& config) {
  const std::string& file = config.headers_file();
  if (config.endpoint().empty() || file.empty()) return std::vector<std::string>();
  ISO_ASSIGN_OR_RETURN(const std::string text,
                       ReadRegularFile("traces.headers_file", file, kMostHeaderBytes));
  ISO_RETURN_IF_ERROR(crypto::CheckSecrecy("traces.headers_file", file));
  std::vector<std::string> headers;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    // What it is stays out of the message: it is a secret.
    if (!IsHeader(line) || headers.size() == kMostHeaders) {
      return absl::InvalidArgumentError(absl::StrCat("traces.headers_file: line ", number, " of '",
                                                     file, "' is none of the at most ",
                                                     kMostHeaders, " lines \"Name: value\""));
    }
    headers.emplace_back(line);
  }
  return headers;
}

std::unique_ptr<traces::Exporter> OpenTraces(const v1::ServerConfig& config,
                                             std::vector<std::string> headers,
                                             archive::Archive& archive) {
  if (config.traces().endpoint().empty()) return nullptr;
  traces::CollectorOptions collector{.endpoint = config.traces().endpoint(),
                                     .ca_file = config.traces().ca_file(),
                                     .headers = std::move(headers)};
  return std::make_unique<traces::Exporter>(traces::ExporterOptions{
      .resource = {{"service.name", std::string("isocenter")},
                   {"service.instance.id", config.cluster().node_name()},
                   {"service.version", std::string(ISOCENTER_VERSION)}},
      .post = [collector = std::move(collector)](
                  const std::string& json) { return traces::Post(collector, json); },
      .kept_trace = [&archive](const std::string& job_id) { return archive.LoadTrace(job_id); }});
}

}  // namespace isocenter::daemon
