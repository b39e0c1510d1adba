// Streams that break, and what becomes of their acquisitions.

#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

class BrokenStreamTest : public ContractTest {};

TEST_F(BrokenStreamTest, ABrokenStreamIsResumed) {
  const Answer undisturbed = Acquire(WholeAcquisition(SmallHeader()));
  auto call = Begin();
  const std::string job_id = call->job_id;
  ASSERT_TRUE(call->Write(0, 10));
  ASSERT_TRUE(call->ReadAcknowledgement(9));
  call->Break();
  EXPECT_EQ(StateOf(job_id), v1::JOB_STATE_RECEIVING);
  call = Resume(job_id);
  EXPECT_EQ(call->job_id, job_id);
  EXPECT_EQ(call->next_frame_index, 10u);
  EXPECT_TRUE(call->ReadAcknowledgement(9));
  ASSERT_TRUE(call->Write(10, 40));
  ASSERT_TRUE(call->stream->Write(FinishMessage()));
  const Answer answer = call->End();
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  EXPECT_EQ(service_.results.volume(job_id),
            service_.results.volume(undisturbed.result()->job_id()));
  EXPECT_EQ(service_.observer.count("resumed console"), 1);
  // A job that has ended tells its result again.
  const auto again = Resume(job_id);
  EXPECT_EQ(again->next_frame_index, 40u);
  ASSERT_NE(again->End().result(), nullptr);
  EXPECT_THAT(Acquire({ResumeMessage("nobody")}).status,
              Refused(StatusCode::NOT_FOUND, std::vector<const char*>({"nobody"})));
}

TEST_F(BrokenStreamTest, TheSameHeaderResumes) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  auto call = Begin(HeaderMessage(header));
  const std::string job_id = call->job_id;
  ASSERT_TRUE(call->Write(0, 10));
  ASSERT_TRUE(call->ReadAcknowledgement(9));
  call->Break();
  call = Begin(HeaderMessage(header));
  EXPECT_EQ(call->job_id, job_id);
  EXPECT_EQ(call->next_frame_index, 10u);
  ASSERT_TRUE(call->Write(10, 40));
  EXPECT_NE(call->End().result(), nullptr);
}

TEST_F(BrokenStreamTest, ASecondStreamTakesOver) {
  const auto first = Begin();
  ASSERT_TRUE(first->Write(0, 10));
  ASSERT_TRUE(first->ReadAcknowledgement(9));
  const auto second = Resume(first->job_id);
  ASSERT_TRUE(second->Write(10, 11));
  EXPECT_THAT(first->End().status,
              Refused(StatusCode::ABORTED, std::vector<const char*>({"taken over"})));
  ASSERT_TRUE(second->Write(11, 40));
  ASSERT_TRUE(second->stream->Write(FinishMessage()));
  EXPECT_NE(second->End().result(), nullptr);
}

TEST_F(BrokenStreamTest, AStreamGoesOnAfterARestartOfTheService) {
  const Answer undisturbed = Acquire(WholeAcquisition(SmallHeader()));
  auto call = Begin();
  const std::string job_id = call->job_id;
  ASSERT_TRUE(call->Write(0, 25));
  ASSERT_TRUE(call->ReadAcknowledgement(24));
  service_.engine->SuspendAll();
  EXPECT_THAT(call->End().status,
              Refused(StatusCode::UNAVAILABLE, std::vector<const char*>({"goes on"})));
  RestartService();
  call = Resume(job_id);
  EXPECT_EQ(call->next_frame_index, 25u);
  ASSERT_TRUE(call->Write(25, 40));
  ASSERT_TRUE(call->stream->Write(FinishMessage()));
  const Answer answer = call->End();
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  EXPECT_EQ(service_.results.volume(job_id),
            service_.results.volume(undisturbed.result()->job_id()));
}

TEST_F(BrokenStreamTest, TheDeadlineOfTheCallCancelsTheJob) {
  Call call;
  call.context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  call.stream = acquisitions_->Acquire(&call.context);
  ASSERT_TRUE(call.stream->Write(HeaderMessage(SmallHeader())));
  v1::AcquireResponse response;
  ASSERT_TRUE(call.stream->Read(&response));
  const std::string job_id = response.accepted().job_id();
  EXPECT_EQ(call.End().status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  ASSERT_TRUE(Ends(job_id));
  EXPECT_EQ(StateOf(job_id), v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(GetJob(job_id).error_message(), ::testing::HasSubstr("deadline"));
}

// Each console leaves a little later than the one before: before, while and after its job is
// accepted.
TEST_F(BrokenStreamTest, ADisconnectAtAnyMomentLeavesNoJobWaiting) {
  SetReconnectLimit(absl::Milliseconds(1));
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    const auto stream = acquisitions_->Acquire(&context);
    // False where those before are so slow to leave that this one finds no place.
    (void)stream->Write(HeaderMessage(SmallHeader()));
    absl::SleepFor(absl::Microseconds(20 * i));
    context.TryCancel();
    stream->Finish();
  }
  // The server may hear of the last ones, and plan their jobs, a little later.
  constexpr absl::Duration kPatience = absl::Seconds(100);
  const absl::Time begin = absl::Now();
  server_->Shutdown(begin + kPatience);
  EXPECT_LT(absl::Now() - begin, kPatience) << "a stream was left open";
  EXPECT_TRUE(Eventually([&] { return service_.HoldsNothing(); }));
}

TEST_F(BrokenStreamTest, ADisconnectAfterFinishDoesNotMatter) {
  service_.results.SetGate(false);
  grpc::ClientContext context;
  const auto stream = acquisitions_->Acquire(&context);
  for (const auto& message : WholeAcquisition(SmallHeader())) ASSERT_TRUE(stream->Write(message));
  v1::AcquireResponse response;
  ASSERT_TRUE(stream->Read(&response));
  const std::string job_id = response.accepted().job_id();
  service_.results.WaitUntilStoring();
  context.TryCancel();
  stream->Finish();
  service_.results.SetGate(true);
  EXPECT_TRUE(Ends(job_id));
  EXPECT_EQ(StateOf(job_id), v1::JOB_STATE_COMPLETED);
}

TEST_F(BrokenStreamTest, StreamsAreLimited) {
  server_.reset();
  StartServer([](v1::ServerConfig& config) { config.mutable_limits()->set_max_active_jobs(1); });
  constexpr int kOpen = 1 + 16;  // max_active_jobs and the server's spare streams
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<AcquireStream>> streams;
  for (int i = 0; i < kOpen + 3; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(acquisitions_->Acquire(contexts.back().get()));
  }
  // Which of them are refused is the server's choice.
  const auto refused = [&] { return service_.observer.count("refused RESOURCE_EXHAUSTED"); };
  for (int tries = 0; tries < 10000 && refused() < 3; ++tries)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(refused(), 3);
  for (const auto& context : contexts) context->TryCancel();
}

}  // namespace
}  // namespace isocenter::testing
