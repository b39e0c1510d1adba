// Callers behind a proxy that ends TLS: who is believed to say who calls.
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "isocenter/v1/node.grpc.pb.h"
#include "server/rpc/callers/proxied_caller.h"
#include "tests/contract/captured_log.h"
#include "tests/contract/contract_fixture.h"
#include "tests/server/test_certificates.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;
using rpc::CommonNameOf;
using rpc::kCallerAddressMetadata;
using rpc::kCallerSubjectMetadata;
using ::testing::HasSubstr;

using Metadata = std::multimap<std::string, std::string>;

/// What a proxy says of somebody whose certificate is listed as an operator's.
const Metadata kOperator = {{kCallerSubjectMetadata, "CN=chief,O=Hospital"},
                            {kCallerAddressMetadata, "192.0.2.7:4711"}};

class ProxiedTest : public ContractTest {
 protected:
  void SetUp() override {
    certificates_.MakeAuthority("authority");
    for (const char* name : {"server", "proxy", "room"}) certificates_.Make(name, "authority");
    roster_ = std::make_unique<roles::Roster>(
        nullptr,
        std::vector<roles::CertificateHolder>{{"CN=chief,O=Hospital", roles::Role::kOperator}});
    StartServer([&](v1::ServerConfig& config) {
      config.mutable_grpc_tls()->set_certificate_file(certificates_.Pem("server"));
      config.mutable_grpc_tls()->set_private_key_file(certificates_.Key("server"));
      config.mutable_grpc_tls()->set_client_ca_file(certificates_.Pem("authority"));
      config.add_grpc_proxy("CN=proxy,O=Hospital");
    });
  }
  static std::string Text(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  void ConnectAs(const std::string& name) {
    Connect(grpc::SslCredentials({.pem_root_certs = Text(certificates_.Pem("authority")),
                                  .pem_private_key = Text(certificates_.Key(name)),
                                  .pem_cert_chain = Text(certificates_.Pem(name))}));
  }
  grpc::Status Drain(const Metadata& metadata) {
    grpc::ClientContext context;
    SetDeadline(context);
    for (const auto& [name, value] : metadata) context.AddMetadata(name, value);
    v1::NodeStatus response;
    return v1::NodeService::NewStub(channel_)->DrainNode(&context, {}, &response);
  }

  const TestCertificates certificates_{service_.directory.path() / "certificates"};
};

TEST_F(ProxiedTest, TheNamedProxyIsBelieved) {
  ConnectAs("proxy");
  EXPECT_TRUE(Drain(kOperator).ok());
  EXPECT_EQ(node_->drained()->by, "chief");
}

TEST_F(ProxiedTest, WhoCallsThroughItHasNoMoreThanItsOwnRole) {
  ConnectAs("proxy");
  const CapturedLog log;
  const grpc::Status status = Drain({{kCallerSubjectMetadata, "CN=room-3,O=Hospital"},
                                     {kCallerAddressMetadata, "192.0.2.8:4712"}});
  EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(log.text(), HasSubstr("address=192.0.2.8:4712 name=\"room-3\""));
}

TEST_F(ProxiedTest, NobodyElseIsBelieved) {
  ConnectAs("room");
  const CapturedLog log;
  EXPECT_EQ(Drain(kOperator).error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(log.text(), HasSubstr("name=\"room\""));
  EXPECT_THAT(log.text(), Not(HasSubstr("192.0.2.7")));
}

TEST_F(ProxiedTest, AProxyThatDoesNotSayWhoCallsIsNobody) {
  ConnectAs("proxy");
  const std::string subject = kCallerSubjectMetadata, address = kCallerAddressMetadata;
  const std::string chief = "CN=chief,O=Hospital", host = "192.0.2.7:4711";
  const std::pair<const char*, Metadata> cases[] = {
      {"nothing", {}},
      {"no subject", {{address, host}}},
      {"no address", {{subject, chief}}},
      {"two subjects", {{subject, "CN=room-3"}, {subject, chief}, {address, host}}},
      {"two addresses", {{subject, chief}, {address, host}, {address, host}}},
      {"an empty subject", {{subject, ""}, {address, host}}},
      {"what stands for none", {{subject, "-"}, {address, host}}},
      {"a long subject", {{subject, "CN=" + std::string(1022, 'x')}, {address, host}}},
      {"a long address", {{subject, chief}, {address, std::string(65, '1')}}},
  };
  for (const auto& [what, metadata] : cases) {
    const grpc::Status status = Drain(metadata);
    EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED) << what;
    EXPECT_THAT(status.error_message(), HasSubstr("the proxy says")) << what;
  }
  EXPECT_FALSE(node_->drained().has_value());
}

TEST_F(ProxiedTest, AScanIsTheConsolesAndNotTheProxys) {
  ConnectAs("proxy");
  const auto begin = [&](const std::string& subject) {
    grpc::ClientContext context;
    SetDeadline(context);
    context.AddMetadata(kCallerSubjectMetadata, subject);
    context.AddMetadata(kCallerAddressMetadata, "192.0.2.9:1");
    const auto stream = acquisitions_->Acquire(&context);
    v1::AcquireRequest request = HeaderMessage(SmallHeader());
    request.mutable_header()->set_request_id("one-scan");
    stream->Write(request);
    v1::AcquireResponse response;
    if (!stream->Read(&response)) return stream->Finish();
    context.TryCancel();
    (void)stream->Finish();
    return grpc::Status::OK;
  };
  EXPECT_TRUE(begin("CN=room-1").ok());
  EXPECT_EQ(begin("CN=room-2").error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(begin("CN=room-1").ok());
}

TEST(ProxiedCaller, CommonNames) {
  EXPECT_EQ(CommonNameOf("CN=room-1,O=Hospital"), "room-1");
  EXPECT_EQ(CommonNameOf("O=Hospital,CN=room-1"), "room-1");
  EXPECT_EQ(CommonNameOf("OU=x+CN=room-1"), "room-1");
  EXPECT_EQ(CommonNameOf("O=A\\,CN=chief,CN=room-1"), "room-1");  // in a value
  EXPECT_EQ(CommonNameOf("O=Hospital"), "");
  EXPECT_EQ(CommonNameOf("O=x\\"), "");
  EXPECT_EQ(CommonNameOf(""), "");
}

}  // namespace
}  // namespace isocenter::testing
