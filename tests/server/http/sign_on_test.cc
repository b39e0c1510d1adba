// Signing in by the identity provider: bearer tokens, the browser's way there and back, and those
// who take another.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/http/sign_on_flow.h"
#include "server/roles/openid/encoding.h"
#include "tests/server/fakes/identity_provider.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// What a query says.
std::map<std::string, std::string> QueryOf(const std::string& url) {
  std::map<std::string, std::string> query;
  const auto parsed = http::ParseQuery(url.substr(url.find('?') + 1));
  for (const auto& [name, value] : *parsed) {
    query[name] = value;
  }
  return query;
}

/// The one of a name, with what it is good for.
std::string CookieOf(const HttpAnswer& answer, const std::string& name) {
  for (const std::string& cookie : answer.cookies) {
    if (absl::StartsWith(cookie, name + "=")) return cookie;
  }
  return "";
}
std::string ValueOf(const std::string& cookie) { return cookie.substr(0, cookie.find(';')); }

class SignOnPage : public WebTest {
 protected:
  SignOnPage() { roster_ = provider_.Roster(); }

  struct Begun {
    std::string cookie;                        // of this browser
    std::map<std::string, std::string> asked;  // of the provider
  };
  Begun Begin() {
    const HttpAnswer answer = client().Get("/api/v1/session/provider");
    EXPECT_EQ(answer.status, 302);
    const std::string url = answer.header("location");
    EXPECT_TRUE(absl::StartsWith(url, absl::StrCat(kIssuer, "/auth?"))) << url;
    return {ValueOf(CookieOf(answer, http::SignOnFlow::kCookie)), QueryOf(url)};
  }
  /// The provider lets a person in, and gives the browser a code.
  std::string Grant(const Begun& begun, Json claims) {
    claims["nonce"] = begun.asked.at("nonce");
    const std::string code = absl::StrCat("code-", ++codes_);
    provider_.Grant(code, provider_.Sign(claims));
    return code;
  }
  HttpAnswer Return(const std::string& cookie, const std::string& query) {
    return client().Get(absl::StrCat("/api/v1/session/callback?", query), {{"Cookie", cookie}});
  }
  static std::string Query(const Begun& begun, const std::string& code) {
    return absl::StrCat("code=", code, "&state=", begun.asked.at("state"));
  }
  /// Nobody is signed in, and a page says so.
  static void ExpectExplained(const HttpAnswer& answer, int status, const char* sentence) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_THAT(answer.body, AllOf(HasSubstr("You are not signed in"), HasSubstr(sentence)));
    EXPECT_THAT(answer.header("content-type"), HasSubstr("text/html"));
    EXPECT_EQ(answer.header("location"), "");
    EXPECT_EQ(CookieOf(answer, http::Access::kCookie), "");
  }
  std::string LastDetail() {
    const auto events = audit_.events();
    return events.empty() ? "" : events.back().detail;
  }

  IdentityProvider provider_;
  int codes_ = 0;
};

TEST_F(SignOnPage, ABearerTokenOfTheProviderIsTaken) {
  Start();
  const auto with = [&](const std::string& token) {
    return client().Get("/api/v1/status", {{"Authorization", "Bearer " + token}}).status;
  };
  EXPECT_EQ(with(provider_.Token("jane", "viewers")), 200);
  EXPECT_EQ(with("guess"), 401);
  EXPECT_EQ(with(provider_.Token("jane", "gardeners")), 403);
  EXPECT_EQ(client().Get("/api/v1/status").status, 401);
  const HttpAnswer drained =
      client().Post("/api/v1/node:drain", nullptr,
                    {{"Authorization", "Bearer " + provider_.Token("jane", "viewers")}});
  EXPECT_EQ(drained.status, 403);
  Json other = IdentityProvider::Claims("jane", "administrators");
  other["aud"] = "another service";
  EXPECT_EQ(with(provider_.Sign(other)), 401);
  EXPECT_THAT(LastDetail(), HasSubstr("audience: it is not for 'isocenter'"));
}

TEST_F(SignOnPage, TokensThatHaveEndedAreNoGuesses) {
  Start();
  Json ended = IdentityProvider::Claims("jane", "viewers");
  ended["exp"] = 1000;
  const std::string authorization = "Bearer " + provider_.Sign(ended);
  for (int i = 0; i < 2 * roles::AttemptLimiter::kFailures; ++i) {
    EXPECT_EQ(client().Get("/api/v1/status", {{"Authorization", authorization}}).status, 401);
  }
}

TEST_F(SignOnPage, APersonSignsInThereAndOutAgain) {
  Start();
  const Json before = client().Get("/api/v1/session").json();
  EXPECT_EQ(before["provider"], "Hospital");
  EXPECT_EQ(before["sign_in"], nullptr);
  const Begun begun = Begin();
  EXPECT_EQ(begun.asked.at("response_type"), "code");
  EXPECT_EQ(begun.asked.at("client_id"), kClient);
  EXPECT_EQ(begun.asked.at("scope"), "openid profile");
  EXPECT_EQ(begun.asked.at("code_challenge_method"), "S256");
  EXPECT_EQ(begun.asked.at("redirect_uri"), "https://ct.hospital.example/api/v1/session/callback");

  Json claims = IdentityProvider::Claims("jane", "operators");
  const int64_t end = absl::ToUnixSeconds(absl::Now()) + 600;
  claims["exp"] = end;
  const HttpAnswer answer = Return(begun.cookie, Query(begun, Grant(begun, claims)));
  EXPECT_EQ(answer.status, 302) << answer.body;
  EXPECT_EQ(answer.header("location"), "../../../");
  // PKCE: what the provider was told at first is the digest of what it is shown now.
  const std::string form = provider_.code_requests().at(0).form;
  const std::string verifier = QueryOf("?" + form).at("code_verifier");
  EXPECT_GE(verifier.size(), 43);
  EXPECT_EQ(openid::EncodeBase64Url(absl::HexStringToBytes(crypto::Sha256Hex(verifier))),
            begun.asked.at("code_challenge"));
  EXPECT_THAT(CookieOf(answer, http::SignOnFlow::kCookie), HasSubstr("sign_on=; ")) << "it goes";
  const std::string cookie = CookieOf(answer, http::Access::kCookie);
  EXPECT_THAT(cookie, HasSubstr("; HttpOnly; SameSite=Strict; Max-Age="));

  client().Set("Cookie", ValueOf(cookie));
  const Json session = client().Get("/api/v1/session").json();
  EXPECT_EQ(session["name"], "jane");
  EXPECT_EQ(session["role"], "operator");
  EXPECT_EQ(session["via"], "provider");
  absl::Time expires;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, session["expires_time"].get<std::string>(),
                              &expires, nullptr));
  EXPECT_EQ(absl::ToUnixSeconds(expires), end);
  EXPECT_EQ(client().Post("/api/v1/node:drain").status, 403) << "without the CSRF token";
  client().TakeCsrfToken();
  EXPECT_EQ(client().Post("/api/v1/node:drain").status, 200);
  EXPECT_EQ(client().Send("DELETE", "/api/v1/session").status, 204);
  EXPECT_EQ(client().Get("/api/v1/status").status, 401);
}

TEST_F(SignOnPage, ASessionEndsWithItsToken) {
  http::Access access(
      *roster_, [this] { return absl::Now() + absl::Seconds(seconds_ahead_.load()); }, &audit_);
  Json claims = IdentityProvider::Claims("jane", "operators");
  claims["exp"] = absl::ToUnixSeconds(absl::Now()) + 600;
  const auto session = access.SignInByProvider(
      roster_->sign_on()->Check(provider_.Sign(claims), absl::Now()), "10.0.0.1");
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(LastDetail(), "openid id-of-jane");
  http::Request request{.remote_address = "10.0.0.1"};
  request.headers["cookie"] = absl::StrCat(http::Access::kCookie, "=", session->id);
  const auto caller = access.Identify(request);
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->name, "jane");
  EXPECT_EQ(caller->role, roles::Role::kOperator);
  EXPECT_EQ(caller->via, http::Via::kProvider);
  EXPECT_EQ(absl::ToUnixSeconds(caller->expires), claims["exp"]);
  seconds_ahead_ = 600;
  EXPECT_TRUE(absl::IsUnauthenticated(access.Identify(request).status()));
}

TEST_F(SignOnPage, TheWayBackIsForTenMinutes) {
  Start();
  const std::string begun =
      CookieOf(client().Get("/api/v1/session/provider"), http::SignOnFlow::kCookie);
  EXPECT_THAT(begun, HasSubstr("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600"));
}

TEST_F(SignOnPage, AnAnswerToNobodysQuestionIsRefused) {
  Start();
  const Begun begun = Begin(), other = Begin();
  const std::string code = Grant(begun, IdentityProvider::Claims("jane", "operators"));
  const char* not_here = "not begun in this browser";
  ExpectExplained(Return(begun.cookie, absl::StrCat("code=", code)), 403, not_here);
  ExpectExplained(Return(begun.cookie, absl::StrCat("code=", code, "&state=guess")), 403, not_here);
  ExpectExplained(Return(begun.cookie, Query(other, code)), 403, not_here);
  ExpectExplained(Return("", Query(begun, code)), 403, not_here);
  ExpectExplained(Return(other.cookie, Query(begun, code)), 403, not_here);
  std::string forged = begun.cookie;
  forged.back() = forged.back() == '0' ? '1' : '0';
  ExpectExplained(Return(forged, Query(begun, code)), 403, not_here);
  ExpectExplained(Return(begun.cookie, Query(begun, code) + "&state=x"), 403, not_here);
  EXPECT_TRUE(provider_.code_requests().empty()) << "the provider is not asked for them";
  seconds_ahead_ = 601;
  ExpectExplained(Return(begun.cookie, Query(begun, code)), 403, not_here);
}

TEST_F(SignOnPage, ACodeIsGoodForOneSignIn) {
  Start();
  const Begun begun = Begin();
  const Json claims = IdentityProvider::Claims("jane", "operators");
  const std::string query = Query(begun, Grant(begun, claims));
  EXPECT_EQ(Return(begun.cookie, query).status, 302);
  ExpectExplained(Return(begun.cookie, query), 403, "has been used already");
  // Also where the provider would take it again.
  ExpectExplained(Return(begun.cookie, Query(begun, Grant(begun, claims))), 403, "used already");
  // One that was made for another browser's sign-in has another nonce.
  const Begun eve = Begin(), jane = Begin();
  const std::string stolen = Grant(jane, claims);
  ExpectExplained(Return(eve.cookie, Query(eve, stolen)), 403, "cannot be used");
  EXPECT_THAT(LastDetail(), HasSubstr("nonce"));
  ExpectExplained(Return(jane.cookie, Query(jane, "unheard-of")), 403, "does not know");
}

TEST_F(SignOnPage, AnotherProvidersAnswerIsRefused) {
  Start();
  const Begun begun = Begin();
  const std::string code = Grant(begun, IdentityProvider::Claims("jane", "operators"));
  ExpectExplained(Return(begun.cookie, Query(begun, code) + "&iss=https%3A%2F%2Fevil.example"), 403,
                  "Another identity provider");
  EXPECT_TRUE(provider_.code_requests().empty());
  const Begun next = Begin();
  const std::string good = Grant(next, IdentityProvider::Claims("jane", "operators"));
  EXPECT_EQ(
      Return(next.cookie, absl::StrCat(Query(next, good), "&iss=", openid::EncodeForm(kIssuer)))
          .status,
      302);
}

TEST_F(SignOnPage, AProviderThatNamesItselfAlwaysDoes) {
  provider_.Describe("authorization_response_iss_parameter_supported", true);
  roster_ = provider_.Roster();
  Start();
  const Begun begun = Begin();
  const std::string code = Grant(begun, IdentityProvider::Claims("jane", "operators"));
  ExpectExplained(Return(begun.cookie, Query(begun, code)), 403, "Another identity provider");
}

TEST_F(SignOnPage, WhatTheProviderRefusesIsSaid) {
  Start();
  Begun begun = Begin();
  const auto error = [&](const std::string& word) {
    begun = Begin();
    return Return(begun.cookie, absl::StrCat("error=", word, "&state=", begun.asked.at("state")));
  };
  ExpectExplained(error("access_denied"), 403, "answered: access_denied.");
  ExpectExplained(error("%3Cscript%3Ealert(1)%3C/script%3E"), 403, "answered: an error.");
  begun = Begin();
  ExpectExplained(Return(begun.cookie,
                         Query(begun, Grant(begun, IdentityProvider::Claims("jane", "gardeners")))),
                  403, "none of your groups has a role");
  begun = Begin();
  provider_.SetReachable(false);
  ExpectExplained(Return(begun.cookie, Query(begun, "code")), 503, "does not answer");
}

TEST_F(SignOnPage, GuessersHaveToWait) {
  Start();
  for (int i = 0; i < roles::AttemptLimiter::kFailures; ++i) {
    const Begun begun = Begin();
    EXPECT_EQ(Return(begun.cookie, Query(begun, "guess")).status, 403);
  }
  const Begun begun = Begin();
  ExpectExplained(Return(begun.cookie, Query(begun, "guess")), 429, "Too many sign-ins");
}

TEST_F(SignOnPage, NobodyIsSentAnywhereElse) {
  Start();
  const Begun begun = Begin();
  const std::string query =
      Query(begun, Grant(begun, IdentityProvider::Claims("jane", "operators")));
  const HttpAnswer answer =
      Return(begun.cookie, query + "&return=https%3A%2F%2Fevil.example&redirect_uri=%2F%2Fevil");
  EXPECT_EQ(answer.header("location"), "../../../");
}

TEST(SignOnFlow, AsksTheProviderSoOftenOnly) {
  http::SignOnFlow flow;
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const auto resume = [&] {
    const auto begun = *flow.Begin(now);
    return flow.Resume(begun.cookie, begun.secrets.state, now).status();
  };
  for (int i = 0; i < http::SignOnFlow::kMostTurns; ++i) EXPECT_TRUE(resume().ok()) << i;
  EXPECT_TRUE(absl::IsResourceExhausted(resume()));
  now += absl::Seconds(1);
  EXPECT_TRUE(resume().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(resume()));
}

TEST(SignOnFlow, SecretsHaveNothingInCommon) {
  http::SignOnFlow flow, other;
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const auto a = *flow.Begin(now), b = *flow.Begin(now);
  const std::set<std::string> all = {a.secrets.state, a.secrets.nonce, a.secrets.verifier,
                                     b.secrets.state, b.secrets.nonce, b.secrets.verifier};
  EXPECT_EQ(all.size(), 6);
  EXPECT_FALSE(other.Resume(a.cookie, a.secrets.state, now).ok()) << "of another process";
}

class NoSignOnPage : public WebTest {};

TEST_F(NoSignOnPage, WithoutAProviderThereIsNoWayThere) {
  StartWithTokens();
  EXPECT_EQ(client().Get("/api/v1/session").json()["provider"], nullptr);
  EXPECT_EQ(client().Get("/api/v1/session/provider").status, 404);
  EXPECT_EQ(client().Get("/api/v1/session/callback?code=x&state=y").status, 404);
}

}  // namespace
}  // namespace isocenter::testing
