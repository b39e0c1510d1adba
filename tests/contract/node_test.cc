// NodeService, and what health says of each service.
#include "grpcpp/generic/generic_stub.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "server/node/monitor.h"
#include "tests/contract/contract_fixture.h"
#include "tests/contract/services.h"

namespace isocenter::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeContractTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    stub_ = v1::NodeService::NewStub(channel_);
    node_->SetStarted();
    monitor_ = std::make_unique<node::Monitor>(
        *node_, activity_,
        [this](const std::vector<node::Reason>& reasons) { server_->SetReady(reasons.empty()); });
  }
  v1::NodeStatus Status() {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::NodeStatus status;
    EXPECT_TRUE(stub_->GetNodeStatus(&context, {}, &status).ok());
    return status;
  }
  grpc::Status Drain(const std::string& reason, const std::string& by) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::DrainNodeRequest request;
    request.set_reason(reason);
    request.set_by(by);
    v1::NodeStatus status;
    return stub_->DrainNode(&context, request, &status);
  }
  v1::NodeStatus ResumeNode() {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::NodeStatus status;
    EXPECT_TRUE(stub_->ResumeNode(&context, {}, &status).ok());
    return status;
  }
  /// The standard health service's answer: 1 is SERVING, 2 NOT_SERVING; -1: it knows no such
  /// service. Its messages are one text and one enum, so no generated code is needed.
  int Health(const std::string& service) {
    std::string request;
    if (!service.empty()) {
      request = std::string("\x0a") + static_cast<char>(service.size()) + service;
    }
    const grpc::Slice slice(request);
    const grpc::ByteBuffer sent(&slice, 1);
    grpc::GenericStub generic(channel_);
    grpc::ClientContext context;
    SetDeadline(context);
    grpc::CompletionQueue queue;
    const auto call =
        generic.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", sent, &queue);
    call->StartCall();
    grpc::ByteBuffer received;
    grpc::Status status;
    call->Finish(&received, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    grpc::Slice answer;
    if (!status.ok() || !received.TrySingleSlice(&answer).ok() || answer.size() != 2) return -1;
    return answer.begin()[1];
  }

  std::unique_ptr<v1::NodeService::Stub> stub_;
  node::Activity activity_{absl::Now()};
  std::unique_ptr<node::Monitor> monitor_;
};

TEST_F(NodeContractTest, OtherNodesAreTold) {
  peers_ = {{.node = "recon2",
             .address = "10.0.0.2:50051",
             .seen = absl::FromUnixSeconds(1'700'000'000),
             .error = "it does not answer in time",
             .summary = node::Summary{.node = "recon2", .queue_chunks = 4}},
            {.node = "recon3", .error = "its address is not configured here"}};
  const v1::NodeStatus status = Status();
  EXPECT_EQ(status.node(), "recon1");
  EXPECT_EQ(status.spool_free_bytes(), 1u);
  EXPECT_FALSE(status.has_replication());
  ASSERT_EQ(status.peer_size(), 2);
  EXPECT_EQ(status.peer(0).node(), "recon2");
  EXPECT_FALSE(status.peer(0).reachable());
  EXPECT_EQ(status.peer(0).seen_time().seconds(), 1'700'000'000);
  EXPECT_EQ(status.peer(0).status().queue_chunks(), 4u);
  EXPECT_FALSE(status.peer(1).has_seen_time());
  EXPECT_FALSE(status.peer(1).has_status());
  // What nodes ask each other for has no others in it.
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetNodeStatusRequest request;
  request.set_without_peers(true);
  v1::NodeStatus alone;
  ASSERT_TRUE(stub_->GetNodeStatus(&context, request, &alone).ok());
  EXPECT_EQ(alone.peer_size(), 0);
}

TEST_F(NodeContractTest, SaysWhatItIs) {
  const v1::NodeStatus status = Status();
  EXPECT_EQ(status.server(), "recon1");
  EXPECT_EQ(status.version(), "1.2.3");
  EXPECT_TRUE(status.ready());
  EXPECT_FALSE(status.has_drain());
  ASSERT_EQ(status.device_size(), 1);
  EXPECT_EQ(status.device(0).name(), "reference0");
  EXPECT_TRUE(status.device(0).healthy());
}

TEST_F(NodeContractTest, SaysHowCallersProveWhoTheyAre) {
  EXPECT_TRUE(Status().has_access());
  EXPECT_FALSE(Status().access().tls());
  access_ = {.tls = true,
             .client_certificates = true,
             .named_certificates = 2,
             .tokens = true,
             .tokens_file_ok = false,
             .openid_issuer = "https://id.example.org"};
  const v1::NodeAccess access = Status().access();
  EXPECT_TRUE(access.tls());
  EXPECT_TRUE(access.client_certificates());
  EXPECT_EQ(access.named_certificates(), 2u);
  EXPECT_TRUE(access.tokens());
  EXPECT_FALSE(access.tokens_file_ok());
  EXPECT_EQ(access.openid_issuer(), "https://id.example.org");
}

TEST_F(NodeContractTest, NamesTheRoomsWhoseScansAreUnderWay) {
  std::vector<std::unique_ptr<Call>> calls;
  for (const char* room : {"C2", "C1", "", "C2"}) {
    v1::AcquisitionHeader header = SmallHeader();
    header.set_station_name(room);
    calls.push_back(Begin(HeaderMessage(header)));
  }
  EXPECT_THAT(Status().station_name(), ElementsAre("C1", "C2"));
}

TEST_F(NodeContractTest, ADrainedNodeRefusesBeforeTheExposureAndSaysWhy) {
  const auto active = Begin();
  ASSERT_TRUE(Drain("new filter in room 2", "ward 3").ok());
  const v1::NodeStatus status = Status();
  EXPECT_FALSE(status.ready());
  EXPECT_EQ(status.drain().by(), "ward 3");
  EXPECT_EQ(status.active_jobs(), 1u);
  EXPECT_EQ(status.reason(0).component(), "admission");

  const Answer refused = Acquire({HeaderMessage(SmallHeader())});
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.status.error_message(), HasSubstr("new filter in room 2"));
  // What has begun goes on, also over another stream.
  active->Break();
  EXPECT_EQ(Resume(active->job_id)->job_id, active->job_id);

  EXPECT_TRUE(ResumeNode().ready());
  EXPECT_NE(Begin()->job_id, "");
}

TEST_F(NodeContractTest, ReasonsAreBounded) {
  EXPECT_EQ(Drain(std::string(201, 'x'), "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Drain("a\nb", "").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Drain("", std::string(65, 'x')).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Status().ready());
}

TEST_F(NodeContractTest, HealthIsToldOfEachService) {
  const auto services = ContractServices();
  // What it says of the server as a whole and of acquisitions, and of each other service.
  const auto expect = [&](int acquisitions, int others) {
    EXPECT_EQ(Health(""), acquisitions);
    for (const auto* service : services) {
      const std::string& name = service->full_name();
      EXPECT_EQ(Health(name), name == "isocenter.v1.AcquisitionService" ? acquisitions : others)
          << name;
    }
  };
  expect(1, 1);
  EXPECT_EQ(Health("isocenter.v1.NoService"), -1);
  ASSERT_TRUE(Drain("", "").ok());
  expect(2, 1);
  ResumeNode();
  expect(1, 1);
  service_.slot().Quarantine("lost");
  EXPECT_TRUE(Eventually([&] { return Health("") == 2; }));
  expect(2, 1);
  server_->StopServing();
  server_->SetReady(true);
  expect(2, 2);
}

}  // namespace
}  // namespace isocenter::testing
