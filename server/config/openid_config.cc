#include "server/config/openid_config.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/protected_url.h"
#include "server/config/fields.h"

namespace isocenter::config {
namespace {

constexpr size_t kLongestTitle = 64;
constexpr char kLegalUrl[] = "https://HOST/PATH, or http on 127.0.0.1, localhost or [::1]";

std::string Quoted(const std::string& value) { return absl::StrCat("'", value, "'"); }

/// Characters of a scope (RFC 6749, section 3.3).
bool IsScope(const std::string& scope) {
  return !scope.empty() && std::ranges::all_of(scope, [](char c) {
    return absl::ascii_isgraph(c) && c != '"' && c != '\\';
  });
}

void CheckRoles(const v1::OpenIdConfig& openid, Mistakes& mistakes) {
  if (openid.role_size() == 0) {
    mistakes.Add(Illegal("web.openid.role", "not there",
                         "one or more: role { group: \"...\" role: WEB_ROLE_... }"));
  }
  std::set<std::string> groups;
  for (int i = 0; i < openid.role_size(); ++i) {
    const v1::OpenIdRole& role = openid.role(i);
    const std::string field = absl::StrCat("web.openid.role[", i, "]");
    if (role.group().empty() || !groups.insert(role.group()).second) {
      mistakes.Add(Illegal(absl::StrCat(field, ".group"), Quoted(role.group()),
                           "the name of a group that no other role has"));
    }
    if (role.role() == v1::WEB_ROLE_UNSPECIFIED || !v1::WebRole_IsValid(role.role())) {
      mistakes.Add(Illegal(absl::StrCat(field, ".role"),
                           absl::StrCat(static_cast<int>(role.role())),
                           "a WebRole other than UNSPECIFIED"));
    }
  }
}

}  // namespace

bool HasOpenId(const v1::WebConfig& web) { return web.has_openid(); }

void ApplyOpenIdDefaults(v1::WebConfig& web) {
  if (!HasOpenId(web)) return;
  v1::OpenIdConfig& openid = *web.mutable_openid();
  if (openid.audience().empty()) openid.set_audience(openid.client_id());
  DefaultString(openid.mutable_groups_claim(), "groups");
  DefaultString(openid.mutable_name_claim(), "preferred_username");
  Default(openid, &v1::OpenIdConfig::leeway_seconds, &v1::OpenIdConfig::set_leeway_seconds, 30.0);
  if (openid.title().empty()) openid.set_title(std::string(HostOfUrl(openid.issuer())));
  if (openid.scope_size() == 0) openid.add_scope("profile");
}

void CheckOpenId(const v1::WebConfig& web, Mistakes& mistakes) {
  if (!HasOpenId(web)) return;
  const v1::OpenIdConfig& openid = web.openid();
  if (!IsProtectedUrl(openid.issuer()) || absl::StrContains(openid.issuer(), '?')) {
    mistakes.Add(Illegal("web.openid.issuer", Quoted(openid.issuer()), kLegalUrl));
  }
  if (openid.client_id().empty() && (!openid.page_url().empty() || openid.audience().empty())) {
    mistakes.Add(Illegal("web.openid.client_id", "''",
                         "the name of this service at the provider, with page_url and without "
                         "audience"));
  }
  if (!openid.client_secret_file().empty() && openid.page_url().empty()) {
    mistakes.Add(Illegal("web.openid.client_secret_file", Quoted(openid.client_secret_file()),
                         "a file, when page_url is set: nothing else needs the secret"));
  }
  if (!openid.page_url().empty() &&
      (!IsProtectedUrl(openid.page_url()) || absl::StrContains(openid.page_url(), '?'))) {
    mistakes.Add(Illegal("web.openid.page_url", Quoted(openid.page_url()), kLegalUrl));
  }
  if (openid.title().size() > kLongestTitle ||
      std::ranges::any_of(openid.title(), absl::ascii_iscntrl)) {
    mistakes.Add(Illegal("web.openid.title", Quoted(openid.title()),
                         absl::StrCat("at most ", kLongestTitle, " characters of one line")));
  }
  mistakes.Add(CheckRange("web.openid.leeway_seconds", openid.leeway_seconds(), 1, 300));
  for (int i = 0; i < openid.scope_size(); ++i) {
    if (IsScope(openid.scope(i))) continue;
    mistakes.Add(Illegal(absl::StrCat("web.openid.scope[", i, "]"), Quoted(openid.scope(i)),
                         "a word without blanks and quotes"));
  }
  CheckRoles(openid, mistakes);
}

std::string RedirectUri(const v1::OpenIdConfig& openid) {
  if (openid.page_url().empty()) return "";
  return absl::StrCat(openid.page_url(), absl::EndsWith(openid.page_url(), "/") ? "" : "/",
                      "api/v1/session/callback");
}

}  // namespace isocenter::config
