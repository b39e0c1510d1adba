#include "server/crypto/handshake_failure.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/crypto/server_context.h"
#include "server/crypto/tls.h"
#include "server/crypto/tls_client.h"
#include "tests/server/archive/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace isocenter::crypto {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HandshakeFailureTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    WatchRefusals();
    signal(SIGPIPE, SIG_IGN);  // as the service does: a client may write when it is refused already
  }
  void SetUp() override {
    files_.MakeAuthority("ca");
    files_.MakeAuthority("other");
    files_.Make("node", "ca");
    listening_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    ASSERT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&here), size), 0);
    ASSERT_EQ(listen(listening_, 4), 0);
    ASSERT_EQ(getsockname(listening_, reinterpret_cast<sockaddr*>(&here), &size), 0);
    port_ = ntohs(here.sin_port);
  }
  void TearDown() override { close(listening_); }

  /// What the server says of the next client's handshake.
  std::string Accept() {
    const auto context = MakeServerContext("tls", {.certificate_file = files_.Pem("node"),
                                                   .private_key_file = files_.Key("node"),
                                                   .client_ca_file = files_.Pem("ca")});
    EXPECT_TRUE(context.ok()) << context.status();
    const int connection = accept(listening_, nullptr, nullptr);
    (void)fcntl(connection, F_SETFL, O_NONBLOCK);
    SSL* const session = NewSession(context->get(), connection, "");
    const auto shown = TlsSession(session).Accept(absl::Now() + absl::Seconds(60));
    SSL_free(session);
    close(connection);
    return std::string(shown.status().message());
  }
  /// Of a client with this certificate.
  std::string RefusalOf(const std::string& certificate) {
    auto client = TlsClient::Create("client", {.host = "127.0.0.1",
                                               .port = port_,
                                               .ca_file = files_.Pem("ca"),
                                               .certificate_file = files_.Pem(certificate),
                                               .private_key_file = files_.Key(certificate)});
    EXPECT_TRUE(client.ok()) << client.status();
    std::thread sender([&] { (void)(*client)->Send("hello"); });
    std::string refusal = Accept();
    sender.join();
    return refusal;
  }

  TemporaryDirectory directory_;
  const TestCertificates files_{directory_.path()};
  int listening_ = -1, port_ = 0;
};

TEST_F(HandshakeFailureTest, ExpiredAndUnknownCertificatesAreNamed) {
  files_.Make("console", "ca", -1);
  EXPECT_THAT(RefusalOf("console"),
              ContainsRegex("^the client's certificate 'CN=console,O=Hospital' has expired on "
                            "20[0-9]+-[0-9]+-[0-9]+ [0-9:]+ UTC \\("));
  files_.Make("stranger", "other");
  EXPECT_THAT(RefusalOf("stranger"),
              StartsWith("the client's certificate 'CN=stranger,O=Hospital' of the issuer "
                         "'CN=other' is not of an authority that is accepted here ("));
  files_.Make("known", "ca");
  EXPECT_EQ(RefusalOf("known"), "");
}

TEST_F(HandshakeFailureTest, TheClientsOwnCertificateIsNamedWhereItSendsItsAuthorityToo) {
  for (const int days : {2, -1}) {
    files_.Make("rogue", "other", days);
    std::ofstream(files_.Pem("rogue"), std::ios::app) << std::ifstream(files_.Pem("other")).rdbuf();
    EXPECT_THAT(RefusalOf("rogue"),
                StartsWith("the client's certificate 'CN=rogue,O=Hospital' of the issuer "
                           "'CN=other' is not of an authority that is accepted here ("));
  }
}

TEST_F(HandshakeFailureTest, PlainTextIsSaidToBePlainText) {
  std::thread client([&] {
    const int plain = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(static_cast<uint16_t>(port_));
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(plain, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
    const std::string text = "GET / HTTP/1.1\r\n\r\n";
    ASSERT_EQ(send(plain, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    char byte = 0;
    (void)recv(plain, &byte, 1, 0);
    close(plain);
  });
  EXPECT_THAT(Accept(), StartsWith("the client sent plain text to the port of TLS ("));
  client.join();
}

TEST(HandshakeFailure, TheTextOfALibraryIsEnoughForTheCommonestMistakes) {
  EXPECT_THAT(
      HandshakeFailure("Handshake failed with fatal error SSL_ERROR_SSL: error:0A0000C7:SSL "
                       "routines::peer did not return a certificate."),
      StartsWith("the client showed no certificate, and client_ca_file asks for one ("));
  EXPECT_THAT(HandshakeFailure("error:0A000418:SSL routines::tlsv1 alert unknown ca"),
              HasSubstr("does not accept this server's certificate"));
  EXPECT_EQ(HandshakeFailure("something else"), "something else");
  EXPECT_THAT(ServersHandshakeFailure("the TLS handshake failed: wrong version number"),
              StartsWith("the other side answers without TLS; check the port, and that both"));
  EXPECT_THAT(ServersHandshakeFailure("the TLS handshake failed: the connection broke"),
              StartsWith("the other side ended it; perhaps its port is one without TLS"));
  EXPECT_THAT(ServersHandshakeFailure("sslv3 alert certificate expired"),
              StartsWith("the other side does not take our certificate; its log says why ("));
  EXPECT_EQ(ServersHandshakeFailure("something else"), "something else");
}

}  // namespace
}  // namespace isocenter::crypto
