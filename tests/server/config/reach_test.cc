// Who may reach what listens beyond this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/config/server_config.h"
#include "tests/server/config/changed_config.h"

namespace isocenter::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A web server on an address.
std::function<void(v1::ServerConfig&)> Web(const char* address, bool tls, bool tokens) {
  return [=](v1::ServerConfig& c) {
    c.mutable_web()->set_address(address);
    if (tls) {
      c.mutable_web()->mutable_tls()->set_certificate_file("c.pem");
      c.mutable_web()->mutable_tls()->set_private_key_file("k.pem");
    }
    if (tokens) c.mutable_web()->set_tokens_file("tokens");
  };
}

TEST(ServerConfig, TheWebIsServedBeyondThisMachineOnlyWithTlsAndSignIn) {
  for (const char* loopback : {"127.0.0.1:80", "127.1.2.3:80", "localhost:80"}) {
    EXPECT_TRUE(Validated(Web(loopback, false, false)).ok()) << loopback;
  }
  // IPv6 with TLS only.
  EXPECT_TRUE(Validated(Web("[::1]:80", true, false)).ok());
  EXPECT_TRUE(Validated(Web("[::]:80", true, true)).ok());
  EXPECT_THAT(Complaint(Web("[::]:80", true, false)), HasSubstr("web.tokens_file"));
  EXPECT_THAT(Complaint(Web("[::1]:80", false, false)), HasSubstr("web.address is '[::1]:80'"));
  for (const char* beyond : {"0.0.0.0:80", "10.0.0.1:80", "ct:80", "127.evil.example:80"}) {
    EXPECT_THAT(Complaint(Web(beyond, false, false)), HasSubstr("web.address is")) << beyond;
    EXPECT_THAT(Complaint(Web(beyond, true, false)), HasSubstr("web.tokens_file")) << beyond;
    EXPECT_THAT(Complaint(Web(beyond, false, true)), HasSubstr("web.tls.certificate_file"));
    EXPECT_TRUE(Validated(Web(beyond, true, true)).ok()) << beyond;
  }
  EXPECT_TRUE(Validated([](v1::ServerConfig& c) {
                Web("0.0.0.0:80", false, false)(c);
                c.mutable_web()->set_disabled(true);
              }).ok());
}

/// gRPC on an address.
std::function<void(v1::ServerConfig&)> Grpc(const char* address, bool tls, bool authority,
                                            bool tokens) {
  return [=](v1::ServerConfig& c) {
    c.set_grpc_address(address);
    if (tls) {
      c.mutable_grpc_tls()->set_certificate_file("c.pem");
      c.mutable_grpc_tls()->set_private_key_file("k.pem");
    }
    if (authority) c.mutable_grpc_tls()->set_client_ca_file("ca.pem");
    if (tokens) c.mutable_web()->set_tokens_file("tokens");
  };
}

TEST(ServerConfig, ProxiesAreKnownByCertificates) {
  const auto proxy = [](const std::string& subject, bool authority) {
    return [=](v1::ServerConfig& c) {
      Grpc("127.0.0.1:80", true, authority, false)(c);
      c.add_grpc_proxy("CN=a");
      c.add_grpc_proxy(subject);
    };
  };
  EXPECT_TRUE(Validated(proxy("CN=isocenter-proxy,O=Hospital", true)).ok());
  EXPECT_THAT(Complaint(proxy("isocenter-proxy", true)),
              HasSubstr("grpc_proxy[1] is 'isocenter-proxy'"));
  EXPECT_THAT(Complaint(proxy("", true)), HasSubstr("grpc_proxy[1] is ''"));
  EXPECT_THAT(Complaint(proxy("CN=b", false)),
              AllOf(HasSubstr("grpc_proxy[0] is 'CN=a'"), HasSubstr("grpc_tls.client_ca_file")));
}

TEST(ServerConfig, GrpcIsServedBeyondThisMachineOnlyWithTlsAndKnownCallers) {
  for (const char* loopback : {"127.0.0.1:80", "[::1]:80", "localhost:80"}) {
    EXPECT_TRUE(Validated(Grpc(loopback, false, false, false)).ok()) << loopback;
    EXPECT_TRUE(Validated(Grpc(loopback, false, false, true)).ok()) << loopback;
  }
  for (const char* beyond : {"0.0.0.0:80", "[::]:80", "10.0.0.1:80", "ct:80"}) {
    EXPECT_THAT(Complaint(Grpc(beyond, false, false, false)),
                AllOf(HasSubstr(absl::StrCat("grpc_address is '", beyond)),
                      HasSubstr("unprotected_listener: LISTENER_GRPC")));
    EXPECT_THAT(Complaint(Grpc(beyond, true, false, false)), HasSubstr("web.tokens_file"));
    EXPECT_THAT(Complaint(Grpc(beyond, false, false, true)), HasSubstr("grpc_tls.certificate_fi"));
    EXPECT_TRUE(Validated(Grpc(beyond, true, true, false)).ok()) << beyond;
    EXPECT_TRUE(Validated(Grpc(beyond, true, false, true)).ok()) << beyond;
    const auto meant = [beyond](v1::Listener listener, bool tokens) {
      return [=](v1::ServerConfig& c) {
        Grpc(beyond, false, false, tokens)(c);
        c.add_unprotected_listener(listener);
      };
    };
    EXPECT_TRUE(Validated(meant(v1::LISTENER_GRPC, false)).ok()) << beyond;
    EXPECT_THAT(Complaint(meant(v1::LISTENER_DICOM, false)), HasSubstr("grpc_address is"));
    EXPECT_THAT(Complaint(meant(v1::LISTENER_GRPC, true)), HasSubstr("in plain text"));
  }
  for (const int listener : {0, 7}) {
    EXPECT_THAT(Complaint([=](auto& c) {
                  c.add_unprotected_listener(static_cast<v1::Listener>(listener));
                }),
                HasSubstr(absl::StrCat("unprotected_listener is ", listener)));
  }
}

TEST(ServerConfig, WebCertificatesNeedAnAuthorityAndARole) {
  const auto with = [](const char* subject, v1::WebRole role, const char* authority) {
    return [=](v1::ServerConfig& c) {
      Web("127.0.0.1:80", true, false)(c);
      v1::WebCertificate& certificate = *c.mutable_web()->add_certificate();
      certificate.set_subject(subject);
      certificate.set_role(role);
      c.mutable_web()->mutable_tls()->set_client_ca_file(authority);
    };
  };
  EXPECT_TRUE(Validated(with("CN=x", v1::WEB_ROLE_VIEWER, "ca.pem")).ok());
  EXPECT_THAT(Complaint(with("", v1::WEB_ROLE_VIEWER, "ca.pem")),
              HasSubstr("web.certificate[0].subject"));
  EXPECT_THAT(Complaint(with("CN=x", v1::WEB_ROLE_UNSPECIFIED, "ca.pem")),
              HasSubstr("web.certificate[0].role"));
  EXPECT_THAT(Complaint(with("CN=x", v1::WEB_ROLE_VIEWER, "")),
              HasSubstr("web.tls.client_ca_file"));
}

TEST(ServerConfig, DicomWebAsksForAConsoleUnlessItIsSaid) {
  const auto after_defaults = [](v1::ServerConfig config) {
    ApplyDefaults(config);
    return config.web().dicomweb().least_role();
  };
  v1::ServerConfig config;
  EXPECT_EQ(after_defaults(config), v1::WEB_ROLE_CONSOLE);
  config.mutable_web()->mutable_dicomweb()->set_least_role(v1::WEB_ROLE_VIEWER);
  EXPECT_EQ(after_defaults(config), v1::WEB_ROLE_VIEWER);
  const auto with = [](int role) {
    return [=](v1::ServerConfig& c) {
      c.mutable_web()->mutable_dicomweb()->set_least_role(static_cast<v1::WebRole>(role));
    };
  };
  EXPECT_TRUE(Validated(with(v1::WEB_ROLE_VIEWER)).ok());
  EXPECT_THAT(Complaint(with(77)), HasSubstr("web.dicomweb.least_role is 77"));
}

}  // namespace
}  // namespace isocenter::config
