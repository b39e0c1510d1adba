// Who may what, and what hostile clients come to.
#include <filesystem>
#include <fstream>
#include <list>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class SecurityTest : public WebTest {};

struct Permission {
  const char* method;
  const char* target;
  http::Role least;
};
// All of the interface but the sign-in; what is not here is a route that nobody thought of.
constexpr Permission kPermissions[] = {
    {"GET", "/api/v1/status", http::Role::kViewer},
    {"GET", "/api/v1/cluster", http::Role::kViewer},
    {"GET", "/api/v1/devices", http::Role::kViewer},
    {"GET", "/api/v1/queue", http::Role::kViewer},
    {"GET", "/api/v1/rooms", http::Role::kViewer},
    {"GET", "/api/v1/history", http::Role::kViewer},
    {"GET", "/api/v1/jobs", http::Role::kViewer},
    {"GET", "/api/v1/jobs/none", http::Role::kViewer},
    {"GET", "/api/v1/jobs/none/trace", http::Role::kViewer},
    {"GET", "/api/v1/jobs/none/preview", http::Role::kViewer},
    {"GET", "/api/v1/jobs/none/volume", http::Role::kViewer},
    {"GET", "/api/v1/jobs/none/slices/axial/0", http::Role::kViewer},
    {"GET", "/api/v1/transfers", http::Role::kViewer},
    {"POST", "/api/v1/jobs/none:cancel", http::Role::kConsole},
    {"POST", "/api/v1/transfers:retry", http::Role::kOperator},
    {"POST", "/api/v1/node:drain", http::Role::kOperator},
    {"POST", "/api/v1/node:resume", http::Role::kOperator},
    {"DELETE", "/api/v1/jobs/none", http::Role::kAdministrator},
};

TEST_F(SecurityTest, RolesMayWhatTheyMay) {
  StartWithTokens();
  for (const auto& [role, token] : {std::pair(http::Role::kViewer, kViewerToken),
                                    std::pair(http::Role::kConsole, kConsoleToken),
                                    std::pair(http::Role::kOperator, kOperatorToken),
                                    std::pair(http::Role::kAdministrator, kAdministratorToken)}) {
    for (const Permission& permission : kPermissions) {
      const std::string what =
          absl::StrCat(roles::Name(role), " ", permission.method, " ", permission.target);
      const int status = client()
                             .Send(permission.method, permission.target,
                                   {{"Authorization", absl::StrCat("Bearer ", token)}})
                             .status;
      if (role >= permission.least) {
        EXPECT_NE(status, 403) << what;
        EXPECT_NE(status, 401) << what;
      } else {
        EXPECT_EQ(status, 403) << what;
      }
    }
  }
}

TEST_F(SecurityTest, NobodySeesAnythingWithoutSignIn) {
  StartWithTokens();
  for (const Permission& permission : kPermissions) {
    EXPECT_EQ(client().Send(permission.method, permission.target).status, 401) << permission.target;
  }
  EXPECT_EQ(client().Get("/api/v1/events").status, 401);
  EXPECT_EQ(client().Get("/api/v1/nothing").status, 404);
  const json session = client().Get("/api/v1/session").json();
  EXPECT_EQ(session["signed_in"], false);
  EXPECT_EQ(session["sign_in"], "token");
  EXPECT_EQ(session["csrf_token"], nullptr);
  // The page itself has to be there to sign in.
  EXPECT_EQ(client().Get("/").status, 200);
}

TEST_F(SecurityTest, SessionsNeedTheCsrfTokenForChanges) {
  StartWithTokens();
  ASSERT_FALSE(client().SignIn("wrong"));
  ASSERT_TRUE(client().SignIn(kOperatorToken));
  const HttpAnswer session = client().Get("/api/v1/session");
  EXPECT_EQ(session.json()["role"], "operator");
  EXPECT_EQ(session.json()["via"], "token");
  EXPECT_EQ(client().Post("/api/v1/node:resume").status, 200);
  EXPECT_EQ(client().Post("/api/v1/node:resume", nullptr, {{"X-CSRF-Token", ""}}).status, 403);
  EXPECT_EQ(client().Post("/api/v1/node:resume", nullptr, {{"X-CSRF-Token", "0"}}).status, 403);
  EXPECT_EQ(
      client().Post("/api/v1/node:resume", nullptr, {{"Origin", "http://evil.example"}}).status,
      403);
  EXPECT_EQ(
      client().Post("/api/v1/node:resume", nullptr, {{"Sec-Fetch-Site", "cross-site"}}).status,
      403);
  EXPECT_EQ(client().Send("DELETE", "/api/v1/session").status, 204);
  EXPECT_EQ(client().Get("/api/v1/status").status, 401);
}

TEST_F(SecurityTest, TheCookieIsKeptFromScriptsAndOtherSites) {
  StartWithTokens();
  const HttpAnswer answer = client().Post("/api/v1/session", {{"token", kViewerToken}});
  ASSERT_EQ(answer.status, 200);
  const std::string cookie = answer.header("set-cookie");
  for (const char* attribute : {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"}) {
    EXPECT_THAT(cookie, HasSubstr(attribute));
  }
  // A form of another site sends no JSON.
  EXPECT_EQ(client()
                .Send("POST", "/api/v1/session", {{"Content-Type", "text/plain"}},
                      json({{"token", kViewerToken}}).dump())
                .status,
            400);
  EXPECT_EQ(
      client()
          .Post("/api/v1/session", {{"token", kViewerToken}}, {{"Sec-Fetch-Site", "cross-site"}})
          .status,
      403);
}

TEST_F(SecurityTest, GuessingEndsInWaiting) {
  StartWithTokens();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(client().Post("/api/v1/session", {{"token", "guess"}}).status, 401);
  }
  const HttpAnswer answer = client().Post("/api/v1/session", {{"token", "guess"}});
  EXPECT_EQ(answer.status, 429);
  EXPECT_NE(answer.header("retry-after"), "");
  const HttpClient::Headers guess = {{"Authorization", "Bearer guess"}};
  EXPECT_EQ(client().Get("/api/v1/status", guess).status, 429);
  // Others behind the same address come in.
  EXPECT_EQ(client().Post("/api/v1/session", {{"token", kViewerToken}}).status, 200);
  EXPECT_EQ(client()
                .Get("/api/v1/status", {{"Authorization", absl::StrCat("Bearer ", kViewerToken)}})
                .status,
            200);
  EXPECT_EQ(client().Get("/api/v1/status", guess).status, 429);
}

TEST_F(SecurityTest, AForeignNameLeadsNowhereWithoutSignIn) {
  Start();
  EXPECT_EQ(client().Get("/api/v1/status").status, 200);
  EXPECT_EQ(client().Get("/api/v1/status", {{"Host", "localhost:1"}}).status, 200);
  EXPECT_EQ(client().Get("/api/v1/status", {{"Host", "evil.example"}}).status, 421);
  EXPECT_EQ(client().Get("/api/v1/status", {{"Host", "127.evil.example"}}).status, 421);
  EXPECT_EQ(client().Get("/", {{"Host", "evil.example"}}).status, 421);
  EXPECT_EQ(client().Get("/livez", {{"Host", "10.1.2.3:8080"}}).status, 200);
  // Whoever is on this machine is an operator, from the page itself only.
  EXPECT_EQ(client().Post("/api/v1/node:resume").status, 403);
  client().TakeCsrfToken();
  EXPECT_EQ(client().Post("/api/v1/node:resume").status, 200);
  EXPECT_EQ(client().Send("DELETE", "/api/v1/jobs/x").status, 403);
}

TEST_F(SecurityTest, EveryAnswerHasTheHeaders) {
  Start();
  for (const char* target : {"/", "/api/v1/status", "/api/v1/none", "/livez", "/none.js", "/%zz"}) {
    const HttpAnswer answer = client().Get(target);
    EXPECT_THAT(answer.header("content-security-policy"), HasSubstr("default-src 'self'"))
        << target;
    EXPECT_THAT(answer.header("content-security-policy"), Not(HasSubstr("unsafe"))) << target;
    EXPECT_EQ(answer.header("x-content-type-options"), "nosniff") << target;
    EXPECT_EQ(answer.header("x-frame-options"), "DENY") << target;
    EXPECT_EQ(answer.header("referrer-policy"), "no-referrer") << target;
    EXPECT_NE(answer.header("cache-control"), "") << target;
    EXPECT_EQ(answer.header("access-control-allow-origin"), "") << target;
    EXPECT_EQ(answer.header("strict-transport-security"), "") << target << ": plain HTTP";
  }
}

TEST_F(SecurityTest, NoPathLeadsOutOfThePage) {
  const auto page = files_.path() / "page";
  std::filesystem::create_directories(page / "assets");
  std::ofstream(page / "index.html") << "<p>index";
  std::ofstream(page / "assets" / "app-1.js") << "1";
  std::ofstream(files_.path() / "secret.txt") << "SECRET";
  std::filesystem::create_symlink(files_.path() / "secret.txt", page / "link.txt");
  Start([&](http::WebOptions& options) { options.page_directory = page; });
  EXPECT_EQ(client().Get("/assets/app-1.js").status, 200);
  for (const char* target :
       {"/../secret.txt", "/assets/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
        "/assets/%2e%2e%2f%2e%2e%2fsecret.txt", "//secret.txt", "/link.txt", "/./../secret.txt",
        "/..\\secret.txt", "/assets/..;/secret.txt", "/secret.txt%00.js", "/etc/passwd.txt"}) {
    const HttpAnswer answer = client().Get(target);
    EXPECT_THAT(answer.body, Not(HasSubstr("SECRET"))) << target;
    EXPECT_THAT(answer.body, Not(HasSubstr("root:"))) << target;
    EXPECT_TRUE(answer.status == 404 || answer.status == 400) << target << ": " << answer.status;
  }
}

TEST_F(SecurityTest, LongBodiesAreRefused) {
  Start();
  client().TakeCsrfToken();
  const std::string body(20'000, ' ');
  EXPECT_EQ(client().Send("POST", "/api/v1/node:drain", {}, body).status, 413);
  // Without saying so before.
  EXPECT_EQ(
      client()
          .SendRaw(absl::StrCat("POST /api/v1/node:drain HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
                                absl::StrFormat("%x", body.size()), "\r\n", body, "\r\n0\r\n\r\n"))
          .status,
      413);
  EXPECT_EQ(client().Get("/api/v1/status").status, 200);
}

TEST_F(SecurityTest, WhatIsNoRequestIsRefused) {
  Start();
  for (const char* request :
       {"GARBAGE\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n"}) {
    const int status = client().SendRaw(request).status;
    EXPECT_TRUE(status == 0 || status >= 400) << request << ": " << status;
  }
  for (const char* target :
       {"/%", "/%4", "/%zz", "/a%00b", "/api/v1/jobs/%", "/api/v1/jobs?state=%f",
        "/api/v1/jobs?page_size=%00", "noslash", "/\x01"}) {
    const int status = client().Get(target).status;
    EXPECT_TRUE(status == 0 || status == 400 || status == 404) << target << ": " << status;
  }
  // One of several names, and one name very often.
  EXPECT_NE(client().Get("/livez", {{"host", "a"}, {"HOST", "b"}}).status, 0);
  std::string many = "GET /livez HTTP/1.1\r\n";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&many, "A: b\r\n");
  EXPECT_GE(client().SendRaw(many + "\r\n").status, 200);
  const std::string long_header(20'000, 'x');
  const int status = client().Get("/", {{"X", long_header}}).status;
  EXPECT_TRUE(status == 0 || status >= 400) << status;
  EXPECT_EQ(client().Send("PUT", "/api/v1/status").status, 405);
  EXPECT_EQ(client().Send("OPTIONS", "/api/v1/status").status, 405);
  EXPECT_EQ(client().Get("/api/v1/status").status, 200);
}

TEST_F(SecurityTest, WhoSendsAScanIsToldWhere) {
  Start();
  for (const char* method : {"POST", "PUT"}) {
    const auto answer = client().Send(method, "/api/v1/jobs");
    EXPECT_EQ(answer.status, 405);
    EXPECT_NE(answer.body.find("the method is " + std::string(method) +
                               "; legal is GET; scans are sent by gRPC, not by HTTP: `isocenter "
                               "stream`"),
              std::string::npos)
        << answer.body;
  }
  const auto answer = client().Send("POST", "/api/v1/acquisitions");
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("AcquisitionService.Acquire"), std::string::npos) << answer.body;
  EXPECT_NE(client().Send("DELETE", "/api/v1/jobs").body.find("DELETE /api/v1/jobs/{id}"),
            std::string::npos);
}

TEST_F(SecurityTest, SlowClientsAreLeft) {
  Start([](http::WebOptions& options) {
    options.threads = 8;
    options.patience = absl::Seconds(1);
  });
  // More than there are threads, of three kinds: a header and a body that never end, and silence.
  std::list<RawConnection> slow;
  for (int i = 0; i < 12; ++i) {
    slow.emplace_back(client().port());
    if (i % 3 == 0) slow.back().Send("GET /api/v1/status HTTP/1.1\r\nX: ");
    if (i % 3 == 1) {
      slow.back().Send(
          "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    }
  }
  // Others are served as soon as the first are given up.
  const absl::Time begin = absl::Now();
  EXPECT_EQ(client().Get("/api/v1/status").status, 200);
  EXPECT_LT(absl::Now() - begin, absl::Seconds(15));
  for (const RawConnection& connection : slow) {
    EXPECT_TRUE(connection.EndsBefore(begin + absl::Seconds(30)));
  }
}

TEST_F(SecurityTest, AHeaderThatDripsIsLeft) {
  Start([](http::WebOptions& options) { options.patience = absl::Seconds(1); });
  const RawConnection connection(client().port());
  ASSERT_TRUE(connection.Send("GET /livez HTTP/1.1\r\nX: "));
  const absl::Time begin = absl::Now();
  bool open = true;
  while (open && absl::Now() - begin < absl::Seconds(15)) {
    open = connection.Send("x") && !connection.EndsBefore(absl::Now() + absl::Milliseconds(100));
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST_F(SecurityTest, FiveHundredSilentConnectionsDelayOthersByOnePatience) {
  // As the service has it: more connections than threads.
  Start([](http::WebOptions& options) { options.threads = http::WebOptions().threads; });
  std::list<RawConnection> silent;
  for (int i = 0; i < 500; ++i) silent.emplace_back(client().port());
  const absl::Time begin = absl::Now();
  EXPECT_EQ(client().Get("/livez").status, 200);
  EXPECT_LT(absl::Now() - begin, 2 * http::WebOptions().patience + absl::Seconds(5));
  silent.clear();
  EXPECT_EQ(client().Get("/livez").status, 200);
}

TEST_F(SecurityTest, ABodyThatDripsIsLeft) {
  Start([](http::WebOptions& options) { options.patience = absl::Seconds(1); });
  RawConnection connection(client().port());
  ASSERT_TRUE(connection.Send(
      "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"));
  const absl::Time begin = absl::Now();
  std::string answer;
  while (connection.Send("x") && absl::Now() - begin < absl::Seconds(15)) {
    if (connection.Receive(answer, absl::Now() + absl::Milliseconds(100))) break;
  }
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  EXPECT_EQ(ParseAnswer(answer).status, 408);
}

}  // namespace
}  // namespace isocenter::testing
