// What surrounds the calls: protocols, health, reflection, TLS, draining.

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "tests/contract/contract_fixture.h"
#include "tests/contract/services.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

class ServiceTest : public ContractTest {
 protected:
  /// One request, one response, without generated code: the standard services' protos are no part
  /// of the distribution's packages.
  std::string CallGeneric(const std::string& method, const std::string& request) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    SetDeadline(context);
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool ok = false;
    const auto call = stub.PrepareCall(&context, method, &queue);
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    call->WriteLast(BufferOf(request), grpc::WriteOptions(), nullptr);
    queue.Next(&tag, &ok);
    grpc::ByteBuffer response;
    call->Read(&response, nullptr);
    queue.Next(&tag, &ok);
    const std::string bytes = ok ? BytesOf(response) : "no response";
    grpc::Status status;
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return bytes;
  }
  /// HealthCheckResponse.status: field 1, 1 = SERVING, 2 = NOT_SERVING.
  std::string Health() { return CallGeneric("/grpc.health.v1.Health/Check", ""); }
};

TEST_F(ServiceTest, ProtocolsAreListedAndDescribed) {
  grpc::ClientContext context;
  v1::ListProtocolsResponse list;
  ASSERT_TRUE(protocol_stub_->ListProtocols(&context, {}, &list).ok());
  std::vector<std::string> names;
  for (const auto& protocol : list.protocol()) {
    names.push_back(protocol.name());
    EXPECT_FALSE(protocol.description().empty()) << protocol.name();
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("fdk", "fdk_fast", "fdk_sharp", "fdk_smooth",
                                     "fdk_then_asd_pocs", "fdk_then_completed_rows",
                                     "fdk_then_ossart", "fdk_then_pwls_tv", "fdk_truncated"));
  EXPECT_EQ(list.default_protocol(), "fdk");

  grpc::ClientContext smooth_context;
  v1::GetProtocolRequest request;
  request.set_name("fdk_smooth");
  v1::ReconstructionProtocol smooth;
  ASSERT_TRUE(protocol_stub_->GetProtocol(&smooth_context, request, &smooth).ok());
  EXPECT_EQ(smooth.filter_window(), v1::FILTER_WINDOW_HANN);
  EXPECT_EQ(smooth.filter_cutoff(), 0.8);
  EXPECT_EQ(smooth.mu_water_per_mm(), 0.02);
  EXPECT_EQ(smooth.grid().auto_().size(), 256u);

  grpc::ClientContext unknown_context;
  request.set_name("magic");
  EXPECT_THAT(protocol_stub_->GetProtocol(&unknown_context, request, &smooth),
              Refused(StatusCode::NOT_FOUND,
                      std::vector<const char*>({"protocol is 'magic'", "fdk_truncated"})));
}

TEST_F(ServiceTest, HealthFollowsTheDrain) {
  EXPECT_EQ(Health(), "\x08\x01");
  server_->StopServing();
  EXPECT_EQ(Health(), "\x08\x02");
}

TEST_F(ServiceTest, ReflectionNamesTheServices) {
  // ServerReflectionRequest.list_services: field 7.
  const std::string services = CallGeneric(
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", std::string("\x3a\x00", 2));
  for (const auto* service : ContractServices()) {
    EXPECT_THAT(services, ::testing::HasSubstr(service->full_name()));
  }
  EXPECT_THAT(services, ::testing::HasSubstr("grpc.health.v1.Health"));
}

TEST_F(ServiceTest, WhileDrainingNothingIsAdmittedAndTheRestGoesOn) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = acquisitions_->Acquire(&context);
  ASSERT_TRUE(stream->Write(HeaderMessage(SmallHeader())));
  v1::AcquireResponse response;
  ASSERT_TRUE(stream->Read(&response));
  service_.engine->StopAdmitting();
  EXPECT_THAT(Refusal([](auto&) {}),
              Refused(StatusCode::UNAVAILABLE, std::vector<const char*>({"shutting down"})));
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(stream->Write(FrameMessage(i)));
  ASSERT_TRUE(stream->Write(FinishMessage()));
  bool result = false;
  while (stream->Read(&response)) result = result || response.has_result();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(result);
}

TEST_F(ServiceTest, ATakenAddressIsAnError) {
  v1::ServerConfig config;
  config::ApplyDefaults(config);
  config.set_grpc_address(server_->address());
  const auto second = rpc::Server::Start(config, protocols_, *service_.table, *service_.engine,
                                         service_.results, service_.observer);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              ::testing::HasSubstr("cannot be listened on"));
}

class TlsTest : public ServiceTest {
 protected:
  void SetUp() override {
    MakeCertificate("server");
    MakeCertificate("console");
    MakeCertificate("stranger");
  }
  std::string File(const std::string& name) const {
    return (service_.directory.path() / name).string();
  }
  std::string Text(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(File(name)).rdbuf();
    return text.str();
  }
  /// Self-signed: each certificate is its own authority.
  void MakeCertificate(const std::string& name) {
    const std::string command = absl::StrCat(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=",
        name, " -addext subjectAltName=IP:127.0.0.1 -keyout ", File(name + ".key"), " -out ",
        File(name + ".crt"), " 2>/dev/null");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  grpc::Status CallWith(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    Connect(credentials);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::ListProtocolsResponse list;
    return protocol_stub_->ListProtocols(&context, {}, &list);
  }
  std::shared_ptr<grpc::ChannelCredentials> Client(const std::string& certificate) {
    grpc::SslCredentialsOptions options{.pem_root_certs = Text("server.crt")};
    if (!certificate.empty()) {
      options.pem_private_key = Text(certificate + ".key");
      options.pem_cert_chain = Text(certificate + ".crt");
    }
    return grpc::SslCredentials(options);
  }
};

TEST_F(TlsTest, Tls) {
  StartServer([&](v1::ServerConfig& config) {
    config.mutable_grpc_tls()->set_certificate_file(File("server.crt"));
    config.mutable_grpc_tls()->set_private_key_file(File("server.key"));
  });
  EXPECT_TRUE(CallWith(Client("")).ok());
  EXPECT_EQ(CallWith(grpc::InsecureChannelCredentials()).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, MutualTls) {
  StartServer([&](v1::ServerConfig& config) {
    config.mutable_grpc_tls()->set_certificate_file(File("server.crt"));
    config.mutable_grpc_tls()->set_private_key_file(File("server.key"));
    config.mutable_grpc_tls()->set_client_ca_file(File("console.crt"));
  });
  EXPECT_TRUE(CallWith(Client("console")).ok());
  EXPECT_FALSE(CallWith(Client("")).ok());
  EXPECT_FALSE(CallWith(Client("stranger")).ok());
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreNamed) {
  v1::ServerConfig config;
  config::ApplyDefaults(config);
  config.set_grpc_address("127.0.0.1:0");
  const auto start = [&] {
    return rpc::Server::Start(config, protocols_, *service_.table, *service_.engine,
                              service_.results, service_.observer)
        .status();
  };
  config.mutable_grpc_tls()->set_certificate_file("/nowhere/a.crt");
  config.mutable_grpc_tls()->set_private_key_file(File("server.key"));
  EXPECT_EQ(start().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(start().message()),
              ::testing::HasSubstr("grpc_tls.certificate_file is /nowhere/a.crt"));
  std::ofstream(File("text")) << "no certificate";
  config.mutable_grpc_tls()->set_certificate_file(File("text"));
  EXPECT_EQ(start().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::testing
