// The order of messages in an acquisition, and what comes back.

#include <cmath>

#include "tests/contract/captured_log.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

class StreamTest : public ContractTest {
 protected:
  grpc::Status StatusOf(const std::vector<v1::AcquireRequest>& messages) {
    return Acquire(messages).status;
  }
  /// Header, then frames up to `index`, the last of which is spoiled. What was right is kept, for a
  /// stream that sends the rest.
  grpc::Status FrameRefusal(int index, const std::function<void(v1::Frame&)>& spoil) {
    std::vector<v1::AcquireRequest> messages = {HeaderMessage(SmallHeader())};
    for (int i = 0; i <= index; ++i) messages.push_back(FrameMessage(i));
    spoil(*messages.back().mutable_frame());
    const Answer answer = Acquire(messages);
    EXPECT_NE(answer.accepted(), nullptr);
    const std::string& job_id = answer.accepted()->job_id();
    index == 0 ? ExpectFailed(job_id, answer.status) : ExpectToGoOn(job_id, index);
    return answer.status;
  }
  /// With the same words; and its memory is free.
  void ExpectFailed(const std::string& job_id, const grpc::Status& status) {
    EXPECT_TRUE(Ends(job_id));
    const v1::Job job = GetJob(job_id);
    EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
    EXPECT_EQ(job.error_code(), status.error_code());
    EXPECT_EQ(job.error_message(), status.error_message());
    EXPECT_TRUE(Eventually([&] { return service_.HoldsNothing(); }));
  }
  void ExpectToGoOn(const std::string& job_id, int first_missing) {
    EXPECT_TRUE(Eventually([&] { return GetJob(job_id).has_awaits_console_until_time(); }));
    const auto call = Begin(ResumeMessage(job_id, SmallHeader()));
    EXPECT_LE(call->next_frame_index, static_cast<uint32_t>(first_missing));
    EXPECT_TRUE(call->Write(static_cast<int>(call->next_frame_index), 40));
    EXPECT_TRUE(call->stream->Write(FinishMessage()));
    const Answer answer = call->End();
    ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
    EXPECT_EQ(answer.result()->warning_size(), 0);
    EXPECT_EQ(service_.results.volume(job_id), Undisturbed());
  }
  /// The volume of SmallHeader's acquisition.
  const std::vector<float>& Undisturbed() {
    if (undisturbed_.empty()) {
      const Answer answer = Acquire(WholeAcquisition(SmallHeader()));
      if (answer.result() != nullptr) {
        undisturbed_ = service_.results.volume(answer.result()->job_id());
      }
    }
    return undisturbed_;
  }

 private:
  std::vector<float> undisturbed_;
};

TEST_F(StreamTest, TwoFramesOfOneIndexFailTheJob) {
  const auto call = Begin(HeaderMessage(SmallHeader()));
  ASSERT_TRUE(call->Write(0, 10));
  ASSERT_TRUE(call->ReadAcknowledgement(9));
  v1::AcquireRequest other = FrameMessage(7);
  other.mutable_frame()->set_index(4);
  ASSERT_TRUE(call->stream->Write(other));
  const Answer answer = call->End();
  EXPECT_THAT(answer.status, Invalid({"frame.pixels of frame 4", "two frames have one index"}));
  ExpectFailed(call->job_id, answer.status);
}

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
    if (!response.acknowledgement().has_frame_index()) continue;
    EXPECT_GE(static_cast<int64_t>(response.acknowledgement().frame_index()), acknowledged);
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
                      std::vector<const char*>({"first message is neither header nor resume"})));
  EXPECT_EQ(StatusOf({FinishMessage()}).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(StatusOf({}).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(
      StatusOf({HeaderMessage(SmallHeader()), HeaderMessage(SmallHeader())}),
      Refused(StatusCode::FAILED_PRECONDITION, std::vector<const char*>({"a second header came"})));
  EXPECT_EQ(StatusOf({v1::AcquireRequest()}).error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(StatusOf({HeaderMessage(SmallHeader()), v1::AcquireRequest()}).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(StreamTest, FinishWithTooManyFramesMissing) {
  const Answer answer = Acquire(WholeAcquisition(SmallHeader(), 30));
  EXPECT_THAT(answer.status,
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({"10 of 40 frames are missing (30 to 39)"})));
  EXPECT_TRUE(Ends(answer.accepted()->job_id()));
  EXPECT_EQ(StateOf(answer.accepted()->job_id()), v1::JOB_STATE_FAILED);
}

TEST_F(StreamTest, FinishWithAFrameMissingIsWarnedOf) {
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader());
  messages.erase(messages.begin() + 1 + 20);
  const Answer answer = Acquire(messages);
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  int warnings = 0;
  for (const auto& response : answer.responses) {
    if (!response.has_warning()) continue;
    ++warnings;
    EXPECT_EQ(response.warning().kind(), v1::WARNING_KIND_FRAME_GAP);
    EXPECT_EQ(response.warning().frame_index(), 20u);
    EXPECT_THAT(response.warning().text(), ::testing::HasSubstr("frame 20 is missing"));
  }
  EXPECT_EQ(warnings, 1);
  EXPECT_THAT(answer.result()->warning(),
              ::testing::ElementsAre(::testing::HasSubstr("frame 20 is missing")));
  EXPECT_EQ(GetJob(answer.result()->job_id()).progress().frames_lost(), 1u);
}

TEST_F(StreamTest, FramesInAnyOrderAndTwice) {
  const Answer ordered = Acquire(WholeAcquisition(SmallHeader()));
  std::vector<v1::AcquireRequest> messages = {HeaderMessage(SmallHeader())};
  for (int i = 0; i < 40; i += 2) {
    for (const int index : {i + 1, i, i + 1}) messages.push_back(FrameMessage(index));
  }
  messages.push_back(FinishMessage());
  const Answer answer = Acquire(messages);
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  EXPECT_EQ(answer.result()->warning_size(), 0);
  EXPECT_EQ(service_.results.volume(answer.result()->job_id()),
            service_.results.volume(ordered.result()->job_id()));
}

TEST_F(StreamTest, FramesBeyondAGapAreAcknowledged) {
  const auto call = Begin();
  ASSERT_TRUE(call->Write(3, 6));
  EXPECT_TRUE(call->ReadUntil([](const v1::AcquireResponse& response) {
    const v1::Acknowledgement& acknowledged = response.acknowledgement();
    return response.has_acknowledgement() && !acknowledged.has_frame_index() &&
           acknowledged.beyond_size() == 1 && acknowledged.beyond(0).first() == 3 &&
           acknowledged.beyond(0).last() == 5;
  }));
  ASSERT_TRUE(call->Write(0, 3));
  EXPECT_TRUE(call->ReadAcknowledgement(5));
  call->Break();
}

TEST_F(StreamTest, PreviewsArriveWhileFramesDo) {
  const auto call = Begin();
  ASSERT_TRUE(call->Write(0, 20));
  EXPECT_TRUE(call->ReadUntil([](const v1::AcquireResponse& response) {
    return response.has_preview() && response.preview().plane_size() == 3 &&
           response.preview().frames_backprojected() < 40;
  }));
  ASSERT_TRUE(call->Write(20, 40));
  ASSERT_TRUE(call->stream->Write(FinishMessage()));
  EXPECT_NE(call->End().result(), nullptr);
}

TEST_F(StreamTest, ClosingWithoutFinishLeavesTheJobWaiting) {
  SetReconnectLimit(absl::Seconds(1));
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader(), 5);
  messages.pop_back();
  const Answer answer = Acquire(messages);
  EXPECT_THAT(answer.status,
              Refused(StatusCode::DEADLINE_EXCEEDED,
                      std::vector<const char*>({"after 5 of 40 frames", "did not come back"})));
  EXPECT_EQ(StateOf(answer.accepted()->job_id()), v1::JOB_STATE_FAILED);
}

TEST_F(StreamTest, FramesAfterFinishAreRefusedAndTheJobGoesOn) {
  service_.results.SetGate(false);
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader());
  messages.push_back(FrameMessage(0));
  const Answer answer = Acquire(messages);
  service_.results.SetGate(true);
  EXPECT_THAT(answer.status, Refused(StatusCode::FAILED_PRECONDITION,
                                     std::vector<const char*>({"no frame is legal after finish"})));
  EXPECT_TRUE(Ends(answer.accepted()->job_id()));
  EXPECT_EQ(StateOf(answer.accepted()->job_id()), v1::JOB_STATE_COMPLETED);
}

TEST_F(StreamTest, AFrameAfterFinishIsNamedWhateverItsLength) {
  service_.results.SetGate(false);
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader());
  messages.push_back(FrameMessage(7));
  messages.back().mutable_frame()->mutable_pixels()->resize(100'000);
  const Answer answer = Acquire(messages);
  service_.results.SetGate(true);
  EXPECT_THAT(answer.status, Refused(StatusCode::FAILED_PRECONDITION,
                                     std::vector<const char*>({"frame.index is 7; no frame is "
                                                               "legal after finish"})));
}

TEST_F(StreamTest, AClosedStreamIsToldAtOnceWhatIsMissing) {
  SetReconnectLimit(absl::Seconds(90));
  const auto call = Begin();
  ASSERT_TRUE(call->Write(0, 10));
  call->stream->WritesDone();
  v1::JobWarning told;
  ASSERT_TRUE(call->ReadUntil([&](const v1::AcquireResponse& response) {
    told = response.warning();
    return response.has_warning();
  }));
  EXPECT_EQ(told.kind(), v1::WARNING_KIND_FRAME_GAP);
  EXPECT_THAT(told.text(), ::testing::HasSubstr("the stream ended without finish, and 30 of 40 "
                                                "frames are missing"));
  EXPECT_THAT(told.text(), ::testing::HasSubstr("(1m30s) for a stream that resumes it"));
  // Who goes on has a scan without a fault.
  const auto next = Resume(call->job_id);
  ASSERT_TRUE(next->Write(static_cast<int>(next->next_frame_index), 40));
  next->stream->Write(FinishMessage());
  next->stream->WritesDone();
  const Answer answer = next->End();
  ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
  EXPECT_EQ(answer.result()->warning_size(), 0);
}

TEST_F(StreamTest, AWrongChecksumBeforeTheStreamIsClosedIsToldAtOnce) {
  SetReconnectLimit(absl::Seconds(90));
  const absl::Time begin = absl::Now();
  const auto call = Begin();
  ASSERT_TRUE(call->Write(0, 9));
  v1::AcquireRequest damaged = FrameMessage(9);
  damaged.mutable_frame()->set_has_checksum(true);
  damaged.mutable_frame()->set_crc32c(damaged.frame().crc32c() + 1);
  ASSERT_TRUE(call->stream->Write(damaged));
  call->stream->WritesDone();
  const Answer answer = call->End();
  EXPECT_THAT(answer.status, Refused(StatusCode::DATA_LOSS, std::vector<const char*>({"frame 9"})));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));
}

TEST_F(StreamTest, AnIllegalFrameIsLoggedAndCounted) {
  const CapturedLog log;
  FrameRefusal(3, [](auto& f) { f.set_index(40); });
  EXPECT_THAT(log.text(), ::testing::ContainsRegex(
                              "event=frame_refused job=[^ ]+ reason=\"[^\"]*frame.index is 40; "
                              "legal is 0 to 39\" suppressed=0"));
  EXPECT_THAT(log.text(), ::testing::Not(::testing::HasSubstr("event=acquisition_refused")));
  EXPECT_EQ(service_.observer.count("frame refused INVALID_ARGUMENT"), 1);
}

TEST_F(StreamTest, FrameIndex) {
  EXPECT_THAT(FrameRefusal(3, [](auto& f) { f.set_index(40); }),
              Invalid({"frame.index is 40", "legal is 0 to 39"}));
  EXPECT_THAT(FrameRefusal(3, [](auto& f) { f.set_index(4294967295u); }),
              Invalid({"frame.index is 4294967295"}));
}

TEST_F(StreamTest, FramePayload) {
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.mutable_pixels()->pop_back(); }),
              Invalid({"frame.pixels of frame 1 has 4031 bytes", "legal is 4032"}));
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.mutable_pixels()->append(4, 'x'); }),
              Invalid({"4036 bytes", "legal is 4032"}));
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.mutable_pixels()->append(1 << 20, 'x'); }),
              Invalid({"frame.pixels of frame 1 has 1052608 bytes", "legal is 4032"}));
  // Of the right pixels, and more than a frame may have beside them.
  EXPECT_THAT(FrameRefusal(1,
                           [](auto& f) {
                             f.GetReflection()->MutableUnknownFields(&f)->AddLengthDelimited(
                                 999, std::string(1 << 20, 'x'));
                           }),
              Invalid({"the message has", "legal is at most"}));
  EXPECT_THAT(FrameRefusal(1, [](auto& f) { f.clear_pixels(); }), Invalid({"has 0 bytes"}));
}

TEST_F(StreamTest, PixelsOfAnotherTypeAreNamed) {
  const auto pixels = [](size_t bytes) {
    return [bytes](v1::Frame& f) { f.mutable_pixels()->resize(bytes); };
  };
  EXPECT_THAT(FrameRefusal(2, pixels(2 * 4032)),
              Invalid({"frame.pixels of frame 2 has 8064 bytes", "legal is 4032",
                       "pixels of 8 bytes, e.g. float64, would have as many: pixel_type says "
                       "float32 line integrals"}));
  EXPECT_THAT(FrameRefusal(2, pixels(4032 / 2)), Invalid({"e.g. uint16, would have as many"}));
}

TEST_F(StreamTest, AGridWhoseCornerIsAtTheIsocentreIsWarnedOfBeforeTheFirstFrame) {
  v1::AcquisitionHeader header = SmallHeader();
  header.mutable_grid()->set_centered(false);
  const auto call = Begin(HeaderMessage(header));
  v1::JobWarning told;
  ASSERT_TRUE(call->ReadUntil([&](const v1::AcquireResponse& response) {
    told = response.warning();
    return told.kind() == v1::WARNING_KIND_IMPLAUSIBLE_HEADER &&
           told.text().find("grid") != std::string::npos;
  }));
  EXPECT_THAT(told.text(), ::testing::HasSubstr("is grid.centered to be true?"));
}

TEST_F(StreamTest, VoxelsOfNoMillimetresAreAWarningOfTheJob) {
  v1::AcquisitionHeader header = SmallHeader();
  header.mutable_grid()->set_spacing_x_mm(0.004);
  const auto call = Begin(HeaderMessage(header));
  EXPECT_TRUE(call->ReadUntil([](const v1::AcquireResponse& response) {
    return response.warning().kind() == v1::WARNING_KIND_IMPLAUSIBLE_HEADER &&
           response.warning().text().find("the voxels of grid are 0.004 x 4 x 4 mm") !=
               std::string::npos;
  }));
}

TEST_F(StreamTest, ADamagedFrameIsSentAgain) {
  auto call = Begin();
  ASSERT_TRUE(call->Write(0, 2));
  ASSERT_TRUE(call->ReadAcknowledgement(1));
  v1::AcquireRequest damaged = FrameMessage(2);
  damaged.mutable_frame()->mutable_pixels()->front() ^= 1;
  {
    const CapturedLog log;
    ASSERT_TRUE(call->stream->Write(damaged));
    EXPECT_THAT(call->End().status,
                Refused(StatusCode::DATA_LOSS, std::vector<const char*>({"frame 2"})));
    EXPECT_THAT(log.text(), ::testing::HasSubstr("event=frame_refused job=" + call->job_id +
                                                 " reason=\"DATA_LOSS: frame 2"));
  }
  EXPECT_EQ(service_.observer.count("frame refused DATA_LOSS"), 1);
  EXPECT_EQ(StateOf(call->job_id), v1::JOB_STATE_RECEIVING);
  call = Resume(call->job_id);
  EXPECT_EQ(call->next_frame_index, 2u);
  ASSERT_TRUE(call->Write(2, 40));
  ASSERT_TRUE(call->stream->Write(FinishMessage()));
  EXPECT_NE(call->End().result(), nullptr);
}

TEST_F(StreamTest, AChecksumIsComparedAlsoWithoutItsFlag) {
  const auto call = Begin();
  v1::AcquireRequest damaged = FrameMessage(0);
  damaged.mutable_frame()->mutable_pixels()->front() ^= 1;
  damaged.mutable_frame()->clear_has_checksum();
  ASSERT_TRUE(call->stream->Write(damaged));
  EXPECT_THAT(call->End().status,
              Refused(StatusCode::DATA_LOSS, std::vector<const char*>({"frame 0"})));
}

TEST_F(StreamTest, ADamagedFrameThatIsThereAlreadyIsNotNeeded) {
  const auto call = Begin();
  ASSERT_TRUE(call->Write(0, 10));
  ASSERT_TRUE(call->ReadAcknowledgement(9));
  v1::AcquireRequest damaged = FrameMessage(3);
  damaged.mutable_frame()->mutable_pixels()->front() ^= 1;
  ASSERT_TRUE(call->stream->Write(damaged));
  ASSERT_TRUE(call->Write(10, 40));
  EXPECT_NE(call->End().result(), nullptr);
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

TEST_F(StreamTest, Dose) {
  EXPECT_THAT(FrameRefusal(3, [](auto& f) { f.set_dose(-1); }),
              Invalid({"frame.dose", "frame 3 is -1", "0.001 to 1000"}));
  EXPECT_THAT(FrameRefusal(0, [](auto& f) { f.set_dose(std::nanf("")); }),
              Invalid({"frame.dose", "frame 0 is nan"}));
  EXPECT_THAT(FrameRefusal(0, [](auto& f) { f.set_dose(1001); }), Invalid({"frame 0 is 1001"}));
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader());
  for (auto& message : messages) {
    if (message.has_frame()) message.mutable_frame()->set_dose(1.5F);
  }
  EXPECT_TRUE(Acquire(messages).status.ok());
}

TEST_F(StreamTest, Phase) {
  EXPECT_THAT(FrameRefusal(0, [](auto& f) { f.set_phase(1); }),
              Invalid({"frame.phase of frame 0 is 1", "0 to less than 1"}));
  EXPECT_THAT(FrameRefusal(0, [](auto& f) { f.set_phase(-0.25F); }),
              Invalid({"frame.phase of frame 0 is -0.25"}));
  EXPECT_THAT(FrameRefusal(0, [](auto& f) { f.set_phase(std::nanf("")); }),
              Invalid({"frame.phase of frame 0 is nan"}));
  // Of all frames or of none, whichever the first one does.
  EXPECT_THAT(FrameRefusal(3, [](auto& f) { f.set_phase(0.5F); }),
              Invalid({"frame.phase of frame 3 is 0.5", "that of frame 0 is not told",
                       "of all frames of an acquisition or of none"}));
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(SmallHeader());
  for (auto& message : messages) {
    if (message.has_frame()) {
      message.mutable_frame()->set_phase(0.1F * static_cast<float>(message.frame().index() % 10));
    }
  }
  const Answer all = Acquire(messages);
  EXPECT_TRUE(all.status.ok()) << all.status.error_message();
  const v1::Job job = GetJob(all.accepted()->job_id());
  EXPECT_TRUE(job.has_phase_cycle());
  EXPECT_EQ(job.phase_cycle(), v1::PHASE_CYCLE_UNSPECIFIED);
  EXPECT_FALSE(job.has_phase());
  for (auto& message : messages) {
    if (message.frame().index() == 17) message.mutable_frame()->clear_phase();
  }
  EXPECT_THAT(Acquire(messages).status,
              Invalid({"frame.phase of frame 17 is not told", "that of frame 0 is 0"}));
  v1::AcquisitionHeader header = SmallHeader();
  header.set_phase_cycle(static_cast<v1::PhaseCycle>(99));
  EXPECT_THAT(Acquire(WholeAcquisition(header)).status, Invalid({"phase_cycle", "99"}));
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

TEST_F(StreamTest, AJobOfAnotherNodeKeepsItsId) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_continues_job_id("20260101T120000-7f3a9c21");
  const Answer first = Acquire(WholeAcquisition(header));
  ASSERT_NE(first.result(), nullptr) << first.status.error_message();
  EXPECT_EQ(first.accepted()->job_id(), "20260101T120000-7f3a9c21");
  EXPECT_EQ(first.accepted()->next_frame_index(), 0u);
  // A node that has it goes on with it.
  const Answer again = Acquire({HeaderMessage(header), FinishMessage()});
  ASSERT_NE(again.result(), nullptr) << again.status.error_message();
  EXPECT_EQ(again.accepted()->next_frame_index(), 40u);
  EXPECT_EQ(service_.observer.count("accepted"), 1);
  header.mutable_patient_study()->set_patient_id("P2");
  EXPECT_THAT(StatusOf({HeaderMessage(header)}),
              Invalid({"continues_job_id is '20260101T120000-7f3a9c21'", "another acquisition",
                       "patient_id is 'P2'"}));
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
  // It may come back.
  EXPECT_EQ(StateOf(job_id), v1::JOB_STATE_RECEIVING);
  const auto call = Resume(job_id);
  EXPECT_EQ(call->next_frame_index, 1u);
  ASSERT_TRUE(call->Write(1, 40));
  EXPECT_NE(call->End().result(), nullptr);
}

TEST_F(StreamTest, AStalledConsoleThatReadsLateIsToldWhyItWasLetGo) {
  server_.reset();
  StartServer(
      [](v1::ServerConfig& config) { config.mutable_limits()->set_idle_stream_seconds(1); });
  grpc::ChannelArguments arguments;  // a stream holds less than the previews
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16 << 10);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto stub = v1::AcquisitionService::NewStub(
      grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments));
  v1::AcquisitionHeader header = SmallHeader();
  header.mutable_grid()->set_nx(160);
  header.mutable_grid()->set_ny(160);
  header.mutable_grid()->set_nz(160);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub->Acquire(&context);
  ASSERT_TRUE(stream->Write(HeaderMessage(header)));
  for (int i = 0; i < 39; ++i) {
    ASSERT_TRUE(stream->Write(FrameMessage(i)));
    absl::SleepFor(absl::Milliseconds(40));  // a busy machine makes previews, too
  }
  absl::SleepFor(absl::Milliseconds(1500));
  int previews = 0;
  v1::AcquireResponse response;
  while (stream->Read(&response)) previews += response.has_preview();
  EXPECT_GT(previews, 0);
  EXPECT_THAT(stream->Finish(), Refused(StatusCode::DEADLINE_EXCEEDED,
                                        std::vector<const char*>({"sent nothing for 1s"})));
}

}  // namespace
}  // namespace isocenter::testing
