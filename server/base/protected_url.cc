#include "server/base/protected_url.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace isocenter {
namespace {

constexpr absl::string_view kMark = "://";

bool IsThisMachine(absl::string_view host) {
  const size_t port = host.rfind(':');
  const bool has_port = port != absl::string_view::npos && !absl::EndsWith(host, "]");
  const absl::string_view name = host.substr(0, has_port ? port : host.size());
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

}  // namespace

absl::string_view HostOfUrl(absl::string_view url) {
  const size_t mark = url.find(kMark);
  if (mark == absl::string_view::npos) return {};
  url.remove_prefix(mark + kMark.size());
  return url.substr(0, url.find_first_of("/?#"));
}

bool IsWebUrl(absl::string_view url) {
  if (!std::ranges::all_of(url, absl::ascii_isgraph) || absl::StrContains(url, '#')) return false;
  const absl::string_view host = HostOfUrl(url);
  if (host.empty() || absl::StrContains(host, '@') || absl::StrContains(host, '\\')) return false;
  return absl::StartsWith(url, "https://") || absl::StartsWith(url, "http://");
}

bool IsProtectedUrl(absl::string_view url) {
  if (!IsWebUrl(url)) return false;
  return absl::StartsWith(url, "https://") || IsThisMachine(HostOfUrl(url));
}

}  // namespace isocenter
