// Several nodes: what each says of itself, and of an acquisition before it is sent.
#include <thread>

#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using ::testing::ElementsAre;

class NodesTest : public ContractTest {
 protected:
  void SetUp() override {
    StartServer([](v1::ServerConfig& config) {
      config.mutable_cluster()->set_node_name("recon1");
      config.mutable_cluster()->clear_node();
      config.mutable_cluster()->add_node("recon1");
      config.mutable_cluster()->add_node("recon2");
    });
  }

  grpc::Status Quote(const v1::AcquisitionHeader& header, v1::AcquisitionQuote& quote,
                     const std::string& for_node = "") {
    grpc::ClientContext context;
    SetDeadline(context);
    if (!for_node.empty()) context.AddMetadata("isocenter-node", for_node);
    v1::QuoteAcquisitionRequest request;
    *request.mutable_header() = header;
    return acquisitions_->QuoteAcquisition(&context, request, &quote);
  }
  size_t Jobs() { return service_.table->List({}, std::nullopt, 100).size(); }
};

TEST_F(NodesTest, AllAreNamed) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListNodesResponse response;
  ASSERT_TRUE(acquisitions_->ListNodes(&context, {}, &response).ok());
  EXPECT_EQ(response.answered_by(), "recon1");
  EXPECT_THAT(response.node(), ElementsAre("recon1", "recon2"));
}

TEST_F(NodesTest, AQuoteLeavesNothingBehind) {
  v1::AcquisitionQuote quote;
  v1::AcquisitionHeader header = SmallHeader();
  header.set_frame_rate_hz(20);
  ASSERT_TRUE(Quote(header, quote, "recon1").ok());
  EXPECT_EQ(quote.node(), "recon1");
  EXPECT_GE(quote.predicted_finish_seconds(), 2) << "40 frames at 20 a second";
  EXPECT_EQ(quote.active_jobs(), 0u);
  EXPECT_FALSE(quote.holds_related_job());
  EXPECT_EQ(Jobs(), 0u);
  const auto call = Begin();
  ASSERT_TRUE(Quote(header, quote).ok());
  EXPECT_EQ(quote.active_jobs(), 1u);
  call->Break();
}

TEST_F(NodesTest, AQuoteIsRefusedAsTheAcquisitionWouldBe) {
  v1::AcquisitionQuote quote;
  v1::AcquisitionHeader header = SmallHeader();
  header.set_protocol("none");
  EXPECT_EQ(Quote(header, quote).error_code(), grpc::StatusCode::NOT_FOUND);
  header = SmallHeader();
  header.mutable_grid()->set_nx(0);
  EXPECT_EQ(Quote(header, quote).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  server_->StopServing();
  service_.engine->StopAdmitting();
  EXPECT_EQ(Quote(SmallHeader(), quote).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(NodesTest, QuotesCostNoPlanAndDelayNoAcceptance) {
  service_.options.memory_bytes = int64_t{8} << 30;
  RestartService();
  v1::AcquisitionHeader largest = SmallHeader();
  largest.set_frame_count(10000);
  largest.mutable_circular()->set_arc_deg(360. * 9999 / 10000);
  largest.mutable_detector()->set_columns(8192);
  largest.mutable_detector()->set_pitch_u_mm(0.05);
  const absl::Time begin = absl::Now();
  std::vector<std::thread> others;
  for (int i = 0; i < 24; ++i) {
    others.emplace_back([&] {
      v1::AcquisitionQuote quote;
      const grpc::Status status = Quote(largest, quote);
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
  }
  absl::SleepFor(absl::Milliseconds(100));  // for some to be under way
  const absl::Time asked = absl::Now();
  Begin()->Break();
  const absl::Duration accepted = absl::Now() - asked;
  for (std::thread& other : others) other.join();
  // A plan of such an acquisition takes seconds.
  EXPECT_LT(accepted, absl::Seconds(1));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST_F(NodesTest, AnAcquisitionBelongsWhereItsJobIs) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("scan-1");
  const auto call = Begin(HeaderMessage(header));
  v1::AcquisitionQuote quote;
  ASSERT_TRUE(Quote(header, quote).ok());
  EXPECT_TRUE(quote.holds_related_job());
  header.set_request_id("scan-2");
  ASSERT_TRUE(Quote(header, quote).ok());
  EXPECT_FALSE(quote.holds_related_job());
  header.set_continues_job_id(call->job_id);
  ASSERT_TRUE(Quote(header, quote).ok());
  EXPECT_TRUE(quote.holds_related_job());
  call->Break();
}

TEST_F(NodesTest, APairStaysTogether) {
  v1::AcquisitionHeader header = SmallHeader();
  header.mutable_pair()->set_pair_id("pair-1");
  header.mutable_pair()->set_role(v1::PAIR_ROLE_MASK);
  const auto call = Begin(HeaderMessage(header));
  header.mutable_pair()->set_role(v1::PAIR_ROLE_FILL);
  v1::AcquisitionQuote quote;
  ASSERT_TRUE(Quote(header, quote).ok());
  EXPECT_TRUE(quote.holds_related_job());
  call->Break();
}

TEST_F(NodesTest, ACallForAnotherNodeIsRefused) {
  v1::AcquisitionQuote quote;
  EXPECT_THAT(Quote(SmallHeader(), quote, "recon2"),
              Refused(grpc::StatusCode::UNAVAILABLE, std::vector{"'recon2'", "'recon1'"}));
  grpc::ClientContext context;
  SetDeadline(context);
  context.AddMetadata("isocenter-node", "recon2");
  const auto stream = acquisitions_->Acquire(&context);
  stream->Write(HeaderMessage(SmallHeader()));
  v1::AcquireResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Jobs(), 0u);
}

TEST_F(NodesTest, TheAnswerNamesTheNode) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = acquisitions_->Acquire(&context);
  ASSERT_TRUE(stream->Write(HeaderMessage(SmallHeader())));
  v1::AcquireResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.accepted().node(), "recon1");
  context.TryCancel();
  (void)stream->Finish();
}

}  // namespace
}  // namespace isocenter::testing
