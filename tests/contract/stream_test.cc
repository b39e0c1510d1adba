// The order of messages in an acquisition, and what comes back.

#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

class StreamTest : public ContractTest {
 protected:
  grpc::Status StatusOf(const std::vector<v1::AcquireRequest>& messages) {
    return Acquire(messages).status;
  }
  /// Header, then frames up to `index`, the last of which is spoiled.
  grpc::Status FrameRefusal(int index, const std::function<void(v1::Frame&)>& spoil) {
    std::vector<v1::AcquireRequest> messages = {HeaderMessage(SmallHeader())};
    for (int i = 0; i <= index; ++i) messages.push_back(FrameMessage(i));
    spoil(*messages.back().mutable_frame());
    const Answer answer = Acquire(messages);
    EXPECT_NE(answer.accepted(), nullptr);
    // The job has failed with the same words, and its memory is free.
    EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + absl::Seconds(20)));
    const v1::Job job = GetJob(answer.accepted()->job_id());
    EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
    EXPECT_EQ(job.error_code(), answer.status.error_code());
    EXPECT_EQ(job.error_message(), answer.status.error_message());
    EXPECT_EQ(service_.slot().memory.used(), 0);
    return answer.status;
  }
};

TEST_F(StreamTest, HappyPath) {
  const Answer answer = Acquire(WholeAcquisition(SmallHeader()));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  ASSERT_NE(answer.accepted(), nullptr);
  EXPECT_TRUE(answer.responses.front().has_accepted());
  EXPECT_EQ(answer.accepted()->next_frame_index(), 0u);
  EXPECT_EQ(answer.accepted()->grid().nx(), 32u);
  EXPECT_DOUBLE_EQ(answer.accepted()->grid().origin_x_mm(), -62);
  EXPECT_GT(answer.accepted()->peak_bytes(), 2u * 32 * 32 * 32 * 4);
  EXPECT_TRUE(answer.responses.back().has_result());
  ASSERT_NE(answer.result(), nullptr);
  EXPECT_EQ(answer.result()->job_id(), answer.accepted()->job_id());
  EXPECT_EQ(answer.result()->instance_count(), 32u);
  EXPECT_EQ(answer.result()->backend(), "reference");
  int64_t acknowledged = -1;
  for (const auto& response : answer.responses) {
    if (!response.has_acknowledgement()) continue;
    EXPECT_GT(static_cast<int64_t>(response.acknowledgement().frame_index()), acknowledged);
    acknowledged = response.acknowledgement().frame_index();
  }
  EXPECT_EQ(acknowledged, 39);
  EXPECT_EQ(service_.results.job(answer.accepted()->job_id()).patient_study.patient_name,
            "Doe^Jane");
}

TEST_F(StreamTest, MatricesAndCircleGiveTheSameVolume) {
  const Answer circle = Acquire(WholeAcquisition(SmallHeader()));
  v1::AcquisitionHeader header = SmallHeader();
  ListMatrices(header);
  // Any scale is legal.
  for (auto& matrix : *header.mutable_matrices()->mutable_matrix()) {
    for (double& value : *matrix.mutable_value()) value *= 4;
  }
  const Answer matrices = Acquire(WholeAcquisition(header));
  ASSERT_NE(circle.result(), nullptr);
  ASSERT_NE(matrices.result(), nullptr);
  EXPECT_EQ(service_.results.volume(circle.result()->job_id()),
            service_.results.volume(matrices.result()->job_id()));
}

TEST_F(StreamTest, AnUnsetGridIsChosenByTheServer) {
  server_.reset();
  StartServer([](v1::ServerConfig& config) {
    v1::ReconstructionProtocol& protocol = *config.add_protocol();
    protocol.set_name("small");
    protocol.mutable_grid()->mutable_auto_()->set_size(16);
    config.set_default_protocol("small");
  });
  v1::AcquisitionHeader header = SmallHeader();
  header.clear_grid();
  header.clear_protocol();
  const Answer answer = Acquire(WholeAcquisition(header));
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  EXPECT_EQ(answer.accepted()->grid().nx(), 16u);
  EXPECT_EQ(answer.result()->instance_count(), 16u);
}

TEST_F(StreamTest, TheHeaderComesFirstAndOnce) {
  EXPECT_THAT(StatusOf({FrameMessage(0)}),
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({"first message is not a header"})));
  EXPECT_EQ(StatusOf({FinishMessage()}).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(StatusOf({}).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(
      StatusOf({HeaderMessage(SmallHeader()), HeaderMessage(SmallHeader())}),
      Refused(StatusCode::FAILED_PRECONDITION, std::vector<const char*>({"a second header came"})));
  EXPECT_EQ(StatusOf({v1::AcquireRequest()}).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(StatusOf({HeaderMessage(SmallHeader()), v1::AcquireRequest()}).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(StreamTest, FinishTooEarly) {
  EXPECT_THAT(StatusOf(WholeAcquisition(SmallHeader(), 39)),
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({"after 39 frames", "after all 40"})));
}

TEST_F(StreamTest, ClosingWithoutFinishCancels) {
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader(), 5);
  messages.pop_back();
  const Answer answer = Acquire(messages);
  EXPECT_THAT(answer.status,
              Refused(StatusCode::CANCELLED,
                      std::vector<const char*>({"after 5 of 40 frames, before finish"})));
  EXPECT_EQ(GetJob(answer.accepted()->job_id()).state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(StreamTest, FramesAfterFinishAreRefusedAndTheJobGoesOn) {
  service_.results.SetGate(false);
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader());
  messages.push_back(FrameMessage(0));
  const Answer answer = Acquire(messages);
  service_.results.SetGate(true);
  EXPECT_THAT(answer.status, Refused(StatusCode::FAILED_PRECONDITION,
                                     std::vector<const char*>({"no frame is legal after finish"})));
  EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + absl::Seconds(20)));
  EXPECT_EQ(GetJob(answer.accepted()->job_id()).state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(StreamTest, FrameIndex) {
  EXPECT_THAT(FrameRefusal(3, [](auto& f) { f.set_index(4); }),
              Invalid({"frame.index is 4", "legal is 3", "gap"}));
  EXPECT_THAT(FrameRefusal(3, [](auto& f) { f.set_index(2); }),
              Invalid({"frame.index is 2", "legal is 3", "arrived already"}));
  EXPECT_THAT(FrameRefusal(3, [](auto& f) { f.set_index(4294967295u); }),
              Invalid({"frame.index is 4294967295"}));
}

TEST_F(StreamTest, FramePayload) {
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.mutable_pixels()->pop_back(); }),
              Invalid({"frame.pixels of frame 1 has 4031 bytes", "legal is 4032"}));
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.mutable_pixels()->append(4, 'x'); }),
              Invalid({"4036 bytes", "legal is 4032"}));
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.mutable_pixels()->append(1 << 20, 'x'); }),
              Invalid({"the message has", "legal is at most"}));
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.clear_pixels(); }), Invalid({"has 0 bytes"}));
}

TEST_F(StreamTest, FrameChecksum) {
  EXPECT_THAT(
      FrameRefusal(2, [](auto& f) { f.mutable_pixels()->front() ^= 1; }),
      Refused(StatusCode::DATA_LOSS, std::vector<const char*>({"frame.crc32c of frame 2"})));
}

TEST_F(StreamTest, FramesWithoutChecksumAreLegal) {
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader());
  for (auto& message : messages) {
    if (!message.has_frame()) continue;
    message.mutable_frame()->clear_crc32c();
    message.mutable_frame()->clear_has_checksum();
  }
  EXPECT_TRUE(Acquire(messages).status.ok());
}

TEST_F(StreamTest, MeasuredMatrix) {
  EXPECT_THAT(FrameRefusal(0, [](auto& f) { f.mutable_measured_matrix()->add_value(1); }),
              Invalid({"frame.measured_matrix of frame 0", "1 values", "12"}));
  EXPECT_THAT(FrameRefusal(0,
                           [](auto& f) {
                             for (int i = 0; i < 12; ++i) f.mutable_measured_matrix()->add_value(1);
                           }),
              Invalid({"frame.measured_matrix of frame 0", "singular"}));
}

TEST_F(StreamTest, TheSameRequestIdReturnsTheSameJob) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  const Answer first = Acquire(WholeAcquisition(header));
  ASSERT_NE(first.result(), nullptr);
  const Answer again = Acquire({HeaderMessage(header), FinishMessage()});
  ASSERT_NE(again.result(), nullptr) << again.status.error_message();
  EXPECT_EQ(again.accepted()->job_id(), first.accepted()->job_id());
  EXPECT_EQ(again.accepted()->next_frame_index(), 40u);
  EXPECT_EQ(again.result()->SerializeAsString(), first.result()->SerializeAsString());
  EXPECT_EQ(service_.observer.count("accepted"), 1);
  // A frame for it is not wanted.
  EXPECT_FALSE(service_.results.volume(first.accepted()->job_id()).empty());
  header.mutable_patient_study()->set_patient_id("P2");
  EXPECT_THAT(StatusOf({HeaderMessage(header)}), Invalid({"request_id is 'once'", "never used"}));
}

TEST_F(StreamTest, AStalledConsoleIsLetGo) {
  server_.reset();
  StartServer(
      [](v1::ServerConfig& config) { config.mutable_limits()->set_idle_stream_seconds(1); });
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = acquisitions_->Acquire(&context);
  ASSERT_TRUE(stream->Write(HeaderMessage(SmallHeader())));
  ASSERT_TRUE(stream->Write(FrameMessage(0)));
  v1::AcquireResponse response;
  std::string job_id;
  while (stream->Read(&response)) {
    if (response.has_accepted()) job_id = response.accepted().job_id();
  }
  EXPECT_THAT(stream->Finish(), Refused(StatusCode::DEADLINE_EXCEEDED,
                                        std::vector<const char*>({"sent nothing for 1s"})));
  EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + absl::Seconds(20)));
  EXPECT_EQ(GetJob(job_id).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(service_.slot().memory.used(), 0);
}

TEST_F(StreamTest, ADisconnectBeforeFinishCancels) {
  grpc::ClientContext context;
  const auto stream = acquisitions_->Acquire(&context);
  ASSERT_TRUE(stream->Write(HeaderMessage(SmallHeader())));
  v1::AcquireResponse response;
  ASSERT_TRUE(stream->Read(&response));
  const std::string job_id = response.accepted().job_id();
  ASSERT_TRUE(stream->Write(FrameMessage(0)));
  ASSERT_TRUE(stream->Read(&response));
  context.TryCancel();
  stream->Finish();
  EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + absl::Seconds(20)));
  const v1::Job job = GetJob(job_id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(job.error_message(), ::testing::HasSubstr("of 40 frames, before finish"));
  EXPECT_EQ(service_.slot().memory.used(), 0);
}

// Each console leaves a little later than the one before: before, while and after its job is
// accepted.
TEST_F(StreamTest, ADisconnectAtAnyMomentLeavesNoJobWaiting) {
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    const auto stream = acquisitions_->Acquire(&context);
    ASSERT_TRUE(stream->Write(HeaderMessage(SmallHeader())));
    absl::SleepFor(absl::Microseconds(20 * i));
    context.TryCancel();
    stream->Finish();
  }
  // The server may hear of the last ones, and plan their jobs, a little later.
  constexpr absl::Duration kPatience = absl::Seconds(20);
  const absl::Time begin = absl::Now();
  server_->Shutdown(begin + kPatience);
  EXPECT_LT(absl::Now() - begin, kPatience) << "a stream was left open";
  EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + kPatience));
  EXPECT_EQ(service_.slot().memory.used(), 0);
}

TEST_F(StreamTest, ADisconnectAfterFinishDoesNotMatter) {
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
  EXPECT_TRUE(service_.engine->WaitUntilIdle(absl::Now() + absl::Seconds(20)));
  EXPECT_EQ(GetJob(job_id).state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(StreamTest, StreamsAreLimited) {
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
  for (int tries = 0; tries < 1000 && refused() < 3; ++tries)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(refused(), 3);
  for (const auto& context : contexts) context->TryCancel();
}

}  // namespace
}  // namespace isocenter::testing
