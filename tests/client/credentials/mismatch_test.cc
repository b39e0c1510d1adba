// Certificates, names and ports that do not fit: what a client says of each, and that it does not
// ask to be called again.
#include "client/credentials/mismatch.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/channel.h"
#include "client/flags/exit_code.h"
#include "client/nodes.h"
#include "client/rpc_status.h"
#include "isocenter/v1/acquisition.grpc.pb.h"
#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/test_certificates.h"

namespace isocenter::client {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string TextOf(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A service over TLS that knows no call.
class TlsServer {
 public:
  /// `authority`: of clients; empty: none is asked for a certificate.
  TlsServer(const TestCertificates& files, const std::string& name, const std::string& authority) {
    grpc::SslServerCredentialsOptions options(
        authority.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                          : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_key_cert_pairs.push_back({TextOf(files.Key(name)), TextOf(files.Pem(name))});
    if (!authority.empty()) options.pem_root_certs = TextOf(files.Pem(authority));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  v1::AcquisitionService::Service service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

/// Answers the first bytes of each connection with `answer`, and ends it.
class Stranger {
 public:
  explicit Stranger(std::string answer) : listening_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here{.sin_family = AF_INET};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&here), size), 0);
    EXPECT_EQ(listen(listening_, 8), 0);
    getsockname(listening_, reinterpret_cast<sockaddr*>(&here), &size);
    port_ = ntohs(here.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] {
      for (int one; (one = accept(listening_, nullptr, nullptr)) >= 0; close(one)) {
        char heard[4096];
        if (recv(one, heard, sizeof heard, 0) <= 0) continue;
        (void)send(one, answer.data(), answer.size(), MSG_NOSIGNAL);
        shutdown(one, SHUT_WR);
        while (recv(one, heard, sizeof heard, 0) > 0) {
        }
      }
    });
  }
  ~Stranger() {
    shutdown(listening_, SHUT_RDWR);
    thread_.join();
    close(listening_);
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  const int listening_;
  int port_ = 0;
  std::thread thread_;
};

class MismatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.MakeAuthority("ca");
    files_.MakeAuthority("other");
    files_.Make("server", "ca");
    files_.Make("console", "ca");
  }
  /// With the authority `ca`, and a certificate where one is named.
  ServerAddress To(const std::string& address, const std::string& ca,
                   const std::string& certificate = "") const {
    ServerAddress server{.address = address};
    if (!ca.empty()) server.ca_file = files_.Pem(ca);
    if (!certificate.empty()) {
      server.certificate_file = files_.Pem(certificate);
      server.private_key_file = files_.Key(certificate);
    }
    return server;
  }
  /// How the first call of such a client ends.
  static absl::Status Call(const ServerAddress& server) {
    const absl::StatusOr<ServiceChannel> channel = ServiceChannel::Open(server);
    if (!channel.ok()) return channel.status();
    return AskForNodes(*channel, absl::Seconds(30)).status();
  }
  /// What is said of what no waiting mends.
  static std::string Mismatch(const ServerAddress& server) {
    const absl::Status status = Call(server);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(BreakOf(status), Break::kMismatch) << status;
    EXPECT_EQ(flags::ExitCodeOf(status), flags::kExitFailed) << status;
    return std::string(status.message());
  }

  const isocenter::testing::TemporaryDirectory directory_;
  const TestCertificates files_{directory_.path()};
};

TEST_F(MismatchTest, WhatFitsIsNone) {
  const TlsServer open(files_, "server", ""), mutual(files_, "server", "ca");
  EXPECT_TRUE(Call(To(open.address(), "ca")).ok()) << Call(To(open.address(), "ca"));
  EXPECT_TRUE(Call(To(mutual.address(), "ca", "console")).ok());
  EXPECT_EQ(ExplainMismatch({.target = mutual.address(),
                             .credentials = {.authorities = TextOf(files_.Pem("ca")),
                                             .certificate = TextOf(files_.Pem("console")),
                                             .private_key = TextOf(files_.Key("console"))}}),
            "");
  // Nobody listens: there may be somebody later.
  const absl::Status away = Call(To("127.0.0.1:1", "ca"));
  EXPECT_EQ(BreakOf(away), Break::kUnreachable);
  EXPECT_EQ(flags::ExitCodeOf(away), flags::kExitUnreachable);
}

TEST_F(MismatchTest, OfTheServersCertificate) {
  const TlsServer server(files_, "server", "");
  EXPECT_THAT(Mismatch(To(server.address(), "")),
              AllOf(HasSubstr(absl::StrCat(server.address(), " expects TLS, and no --ca is given")),
                    EndsWith("its certificate, 'CN=ca', with --ca (ISOCENTER_CA)")));
  EXPECT_THAT(
      Mismatch(To(server.address(), "other")),
      HasSubstr(absl::StrCat("the certificate of ", server.address(),
                             " is signed by 'CN=ca', and --ca ", files_.Pem("other"),
                             " holds 'CN=other', which did not sign it; give the authority")));

  files_.Make("late", "ca", -1);
  const TlsServer late(files_, "late", "");
  EXPECT_THAT(Mismatch(To(late.address(), "ca")),
              ContainsRegex("the certificate 'CN=late,O=Hospital' of 127.0.0.1:[0-9]+ has expired "
                            "on 20[0-9]+-[0-9]+-[0-9]+ [0-9:]+ UTC; have it renewed"));

  files_.Make("elsewhere", "ca", 2, "10.1.2.3");
  const TlsServer elsewhere(files_, "elsewhere", "");
  EXPECT_THAT(Mismatch(To(elsewhere.address(), "ca")),
              HasSubstr("is for '10.1.2.3', and --server says '127.0.0.1'; give a name"));
}

TEST_F(MismatchTest, OfTheClientsCertificate) {
  const TlsServer server(files_, "server", "ca");
  EXPECT_THAT(Mismatch(To(server.address(), "ca")),
              AllOf(HasSubstr("wants to see a certificate of this client, and none is given; give"),
                    HasSubstr("--cert and --key")));
  files_.Make("late", "ca", -1);
  EXPECT_THAT(Mismatch(To(server.address(), "ca", "late")),
              ContainsRegex("the certificate 'CN=late,O=Hospital' in --cert .*late.pem has expired "
                            "on 20[0-9]+-[0-9]+-[0-9]+ [0-9:]+ UTC; have a new one made"));
  files_.Make("stranger", "other");
  EXPECT_THAT(Mismatch(To(server.address(), "ca", "stranger")),
              AllOf(HasSubstr("the certificate 'CN=stranger,O=Hospital' in --cert"),
                    HasSubstr("is signed by 'CN=other', and "),
                    HasSubstr("takes those of 'CN=ca'; give one of these")));
}

TEST_F(MismatchTest, AKeyOfAnotherCertificateIsToldBeforeAnyConnection) {
  ServerAddress server = To("127.0.0.1:1", "ca", "console");
  server.private_key_file = files_.Key("server");
  const absl::Status status = Call(server);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(absl::StrCat("the private key file is ", files_.Key("server"),
                                           ", which does not belong to the certificate file ",
                                           files_.Pem("console"))),
                    HasSubstr("legal is the private key")));
}

TEST_F(MismatchTest, OfThePort) {
  const std::string abort("\x07\x00\x00\x00\x00\x04\x00\x00\x02\x02", 10);
  const Stranger dicom(abort);
  const Stranger web("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  const Stranger plain(std::string("\x00\x00\x00\x04\x00\x00\x00\x00\x00", 9));
  for (const char* ca : {"", "ca"}) {
    EXPECT_THAT(Mismatch(To(dicom.address(), ca)),
                AllOf(HasSubstr(absl::StrCat(dicom.address(), " speaks DICOM and no gRPC")),
                      HasSubstr("legal is the host:port of isocenterd's grpc_address")))
        << ca;
    EXPECT_THAT(Mismatch(To(web.address(), ca)),
                HasSubstr(absl::StrCat(web.address(), " is a web server without TLS")))
        << ca;
  }
  EXPECT_THAT(Mismatch(To(plain.address(), "ca")),
              HasSubstr(absl::StrCat(plain.address(), " speaks no TLS: leave out --ca")));
}

TEST_F(MismatchTest, WhatIsCutWithoutAWordMayBeTheNetworksDoing) {
  const Stranger silent("");
  for (const char* ca : {"", "ca"}) {
    const absl::Status status = Call(To(silent.address(), ca));
    EXPECT_EQ(BreakOf(status), Break::kHandshake) << status;
    EXPECT_EQ(flags::ExitCodeOf(status), flags::kExitUnreachable) << status;
  }
}

}  // namespace
}  // namespace isocenter::client
