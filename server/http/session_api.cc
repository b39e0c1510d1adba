// Signing in and out.
#include <string>

#include "kernels/base/status_macros.h"
#include "server/http/apis.h"
#include "server/http/cookies.h"
#include "server/http/job_json.h"
#include "server/http/parameters.h"
#include "server/http/transport/answers.h"
#include "server/roles/openid/sign_on.h"

namespace isocenter::http {
namespace {

const char* ViaName(Via via) {
  switch (via) {
    case Via::kBearer:
    case Via::kSession:
      return "token";
    case Via::kProvider:
      return "provider";
    case Via::kCertificate:
      return "certificate";
    case Via::kLoopback:
      return "loopback";
  }
  return "unknown";
}

Json SessionJson(const Access& access, const absl::StatusOr<Caller>& caller) {
  Json json = {{"signed_in", caller.ok()},
               {"name", nullptr},
               {"role", nullptr},
               {"via", nullptr},
               {"csrf_token", nullptr},
               {"expires_time", nullptr},
               {"sign_in", access.takes_tokens() ? Json("token") : Json(nullptr)},
               {"provider", nullptr}};
  if (access.provider() != nullptr) json["provider"] = TextJson(access.provider()->title());
  if (!caller.ok()) return json;
  json["name"] = caller->name;
  json["role"] = std::string(Name(caller->role));
  json["via"] = ViaName(caller->via);
  json["csrf_token"] = TextJson(caller->csrf_token);
  json["expires_time"] = TimeJson(caller->expires);
  return json;
}

std::string SessionCookie(const std::string& id, absl::Duration age, bool secure) {
  return CookieText(Access::kCookie, id, age, SameSite::kStrict, secure);
}

absl::StatusOr<Response> SignIn(Access& access, const Call& call) {
  // A page of another site could sign its reader in with a token of its own.
  if (call.request.body.empty()) return absl::InvalidArgumentError("token is not given");
  const absl::string_view site = call.request.Header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return absl::PermissionDeniedError("the request comes from another site");
  }
  ISO_ASSIGN_OR_RETURN(const Json body, BodyOf(call.request, {"token"}));
  ISO_ASSIGN_OR_RETURN(const std::string token, TextOf(body, "token"));
  ISO_ASSIGN_OR_RETURN(const Access::NewSession session,
                       access.SignIn(token, call.request.remote_address));
  Response response = JsonAnswer(SessionJson(access, session.caller));
  response.Set("Set-Cookie",
               SessionCookie(session.id, Access::kSessionLength, call.request.secure));
  return response;
}

absl::StatusOr<Response> SignOut(Access& access, const Call& call) {
  access.SignOut(call.request);
  return Response{.status = 204}
      .Set("Set-Cookie", SessionCookie("", absl::ZeroDuration(), call.request.secure))
      .Set("Clear-Site-Data", "\"cache\"");
}

}  // namespace

void AddSessionRoutes(Access& access, Router& router) {
  constexpr char kPath[] = "/api/v1/session";
  router.AddOpen("GET", kPath, [&access](const Call& call) -> absl::StatusOr<Response> {
    return JsonAnswer(SessionJson(access, access.Identify(call.request)));
  });
  router.AddOpen("POST", kPath, [&access](const Call& call) { return SignIn(access, call); });
  router.Add("DELETE", kPath, Role::kViewer,
             [&access](const Call& call) { return SignOut(access, call); });
}

}  // namespace isocenter::http
