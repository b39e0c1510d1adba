// TLS with a client's certificate, by the tool that administrators have: openssl.
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "server/crypto/server_context.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using ::testing::HasSubstr;

class TlsTest : public WebTest {
 protected:
  std::string File(const char* name) const { return (files_.path() / name).string(); }
  int Run(const std::string& command) const {
    return std::system(
        absl::StrCat("cd ", files_.path().string(), " && ", command, " >>log 2>&1").c_str());
  }
  void MakeCertificates() {
    const std::string key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes ";
    ASSERT_EQ(Run("openssl req -x509 " + key + "-keyout ca.key -out ca.pem -subj /CN=authority"),
              0);
    ASSERT_EQ(Run("openssl req -x509 " + key + "-keyout other.key -out other.pem -subj /CN=other"),
              0);
    ASSERT_EQ(Run("openssl req " + key + "-keyout c.key -out c.csr -subj '/O=Hospital/CN=ct 3'"),
              0);
    ASSERT_EQ(Run("openssl x509 -req -in c.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
                  "-out c.pem"),
              0);
  }
  void StartTls() {
    roster_ = std::make_unique<roles::Roster>(
        nullptr,
        std::vector<roles::CertificateHolder>{{"CN=ct 3,O=Hospital", roles::Role::kAdministrator}});
    Start([&](http::WebOptions& options) {
      options.tls = {.certificate_file = File("other.pem"),
                     .private_key_file = File("other.key"),
                     .client_ca_file = File("ca.pem")};
    });
  }
  /// In the audit trail.
  int RefusedHandshakes() const {
    const std::vector<audit::Event> refused = audit_.Of(audit::Action::kAssociate);
    for (const audit::Event& event : refused) {
      EXPECT_EQ(event.outcome, audit::Outcome::kRefused);
      EXPECT_EQ(event.actor.address, "127.0.0.1");
      EXPECT_EQ(event.service, "http");
    }
    return static_cast<int>(refused.size());
  }
  /// What the server answers to GET `target`.
  std::string Ask(const std::string& target, const std::string& flags) const {
    const std::string command = absl::StrCat(
        "cd ", files_.path().string(), " && printf 'GET ", target,
        " HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client "
        "-quiet -ign_eof -connect 127.0.0.1:",
        server_->port(), " ", flags, " 2>/dev/null");
    FILE* const pipe = popen(command.c_str(), "r");
    std::string answer;
    char buffer[4096];
    while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) answer.append(buffer, n);
    pclose(pipe);
    return answer;
  }
};

TEST_F(TlsTest, CertificatesSignIn) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "openssl is missing";
  MakeCertificates();
  StartTls();
  const std::string known = Ask("/api/v1/session", "-cert c.pem -key c.key");
  EXPECT_THAT(known, HasSubstr("\"via\":\"certificate\""));
  EXPECT_THAT(known, HasSubstr("\"role\":\"administrator\""));
  EXPECT_THAT(known, HasSubstr("Strict-Transport-Security"));
  EXPECT_THAT(Ask("/api/v1/status", "-cert c.pem -key c.key"), HasSubstr("200 OK"));
  // Without one there is no sign-in, and one of another authority does not come in at all.
  EXPECT_THAT(Ask("/api/v1/status", ""), HasSubstr("401"));
  EXPECT_EQ(Ask("/api/v1/status", "-cert other.pem -key other.key"), "");
  EXPECT_TRUE(Eventually([&] { return RefusedHandshakes() >= 1; }));
  EXPECT_EQ(Ask("/livez", "-tls1_1"), "") << "old protocols";
  EXPECT_THAT(Ask("/livez", "-tls1_2"), HasSubstr("200 OK"));
}

TEST_F(TlsTest, WhoForgetsTheSOfHttpsIsTold) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "openssl is missing";
  MakeCertificates();
  StartTls();
  const HttpAnswer answer = HttpClient(server_->port()).Get("/api/v1/status");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("this port speaks HTTPS"));
  EXPECT_TRUE(Eventually([&] { return RefusedHandshakes() == 1; }));
  EXPECT_THAT(Ask("/livez", ""), HasSubstr("200 OK")) << "the next one is served";
}

TEST_F(TlsTest, FilesThatDoNotFitAreNamed) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "openssl is missing";
  MakeCertificates();
  const auto missing = crypto::MakeServerContext("web.tls", {File("none.pem"), File("ca.key"), ""});
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("none.pem"));
  const auto foreign =
      crypto::MakeServerContext("web.tls", {File("ca.pem"), File("other.key"), ""});
  EXPECT_TRUE(absl::IsInvalidArgument(foreign.status()));
  EXPECT_THAT(std::string(foreign.status().message()), HasSubstr("private_key_file"));
}

}  // namespace
}  // namespace isocenter::testing
