// The client that asks the identity provider, over real sockets.
#include "server/roles/openid/web_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/crypto/server_context.h"
#include "server/http/transport/http_server.h"
#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace isocenter::openid {
namespace {

using ::testing::HasSubstr;

/// Answers what its test wants.
std::unique_ptr<http::HttpServer> Serve(http::HttpServer::Handler handler,
                                        crypto::TlsContext tls = nullptr) {
  http::HttpOptions options{.address = "127.0.0.1:0"};
  options.tls = std::move(tls);
  return *http::HttpServer::Start(std::move(options), std::move(handler));
}

TEST(WebClient, AsksAndTakesWhatItWants) {
  std::string seen;
  const auto server = Serve([&](const http::Request& request) {
    seen = absl::StrCat(request.method, " ", request.path, " ", request.Header("authorization"),
                        " ", request.body);
    return http::Response{.status = request.path == "/none" ? 404 : 200,
                          .body = std::string(1000, 'x')};
  });
  const std::string base = absl::StrCat("http://127.0.0.1:", server->port());
  const Fetch fetch = MakeWebClient("");
  const auto answer = fetch({.url = base + "/a", .most_bytes = 1000});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body.size(), 1000);
  EXPECT_EQ(seen, "GET /a  ");
  EXPECT_EQ(fetch({.url = base + "/none", .most_bytes = 1000})->status, 404);
  ASSERT_TRUE(
      fetch({.url = base + "/b", .form = "a=b", .user = "u", .password = "p", .most_bytes = 1000})
          .ok());
  EXPECT_EQ(seen, "POST /b Basic dTpw a=b");
  const auto longer = fetch({.url = base + "/a", .most_bytes = 999});
  EXPECT_TRUE(absl::IsUnavailable(longer.status()));
  EXPECT_THAT(std::string(longer.status().message()), HasSubstr("longer than 999"));
}

TEST(WebClient, IsNotLedElsewhere) {
  int requests = 0;
  const auto server = Serve([&](const http::Request&) {
    ++requests;
    return http::Response{.status = 302}.Set("Location", "/elsewhere");
  });
  const std::string base = absl::StrCat("http://127.0.0.1:", server->port());
  const auto answer = MakeWebClient("")({.url = base + "/a", .most_bytes = 1000});
  EXPECT_EQ(answer->status, 302);
  EXPECT_EQ(requests, 1);
  EXPECT_TRUE(absl::IsUnavailable(
      MakeWebClient("")({.url = "file:///etc/hostname", .most_bytes = 1000}).status()));
}

TEST(WebClient, KnowsTheProviderByItsCertificate) {
  const isocenter::testing::TemporaryDirectory files;
  const TestCertificates certificates(files.path());
  certificates.MakeAuthority("hospital");
  certificates.MakeAuthority("other");
  certificates.Make("provider", "hospital");
  certificates.Make("elsewhere", "hospital", 2, "127.0.0.2");
  const auto serve = [&](const std::string& name) {
    return Serve([](const http::Request&) { return http::Response{.body = "keys"}; },
                 *crypto::MakeServerContext("tls", {.certificate_file = certificates.Pem(name),
                                                    .private_key_file = certificates.Key(name)}));
  };
  const auto ask = [](const http::HttpServer& server, const std::string& ca_file) {
    return MakeWebClient(ca_file)(
        {.url = absl::StrCat("https://127.0.0.1:", server.port(), "/"), .most_bytes = 100});
  };
  const auto provider = serve("provider"), elsewhere = serve("elsewhere");
  const auto answer = ask(*provider, certificates.Pem("hospital"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "keys");
  EXPECT_TRUE(absl::IsUnavailable(ask(*provider, certificates.Pem("other")).status()));
  EXPECT_TRUE(absl::IsUnavailable(ask(*provider, "").status())) << "the system's authorities";
  EXPECT_TRUE(absl::IsUnavailable(ask(*elsewhere, certificates.Pem("hospital")).status()))
      << "another host's certificate";
}

}  // namespace
}  // namespace isocenter::openid
