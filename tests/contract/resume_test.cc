// Going on with a job: which acquisition, who has it, and whose it is.
#include <fstream>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/audit/event.h"
#include "server/crypto/digests.h"
#include "tests/contract/captured_log.h"
#include "tests/contract/contract_fixture.h"
#include "tests/server/fakes/kept_events.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;
using ::testing::Not;

class ResumeTest : public ContractTest {
 protected:
  /// A job with ten frames whose stream has broken.
  std::string BrokenJob(const v1::AcquisitionHeader& header = SmallHeader()) {
    const auto call = Begin(HeaderMessage(header));
    EXPECT_TRUE(call->Write(0, 10));
    EXPECT_TRUE(call->ReadAcknowledgement(9));
    call->Break();
    return call->job_id;
  }
  /// How a resumption of the job with another header is refused.
  grpc::Status ResumeRefusal(const std::string& job_id,
                             const std::function<void(v1::AcquisitionHeader&)>& change) {
    v1::AcquisitionHeader header = SmallHeader();
    change(header);
    const Answer answer = Acquire({ResumeMessage(job_id, header)});
    EXPECT_EQ(answer.accepted(), nullptr) << "the resumption was accepted";
    return answer.status;
  }
  /// Sends the rest of SmallHeader's acquisition and expects its volume.
  void Complete(Call& call, int first) {
    ASSERT_TRUE(call.Write(first, 40));
    ASSERT_TRUE(call.stream->Write(FinishMessage()));
    const Answer answer = call.End();
    ASSERT_NE(answer.result(), nullptr) << answer.status.error_message();
    EXPECT_EQ(answer.result()->warning_size(), 0);
  }
  std::unique_ptr<Call> ResumeAs(const std::string& job_id,
                                 const v1::AcquisitionHeader& header = SmallHeader()) {
    return Begin(ResumeMessage(job_id, header));
  }
};

// ---- Which acquisition -------------------------------------------------------------------------

TEST_F(ResumeTest, AnotherPatientsScanIsRefusedAndTheJobGoesOn) {
  const Answer undisturbed = Acquire(WholeAcquisition(SmallHeader()));
  const std::string job_id = BrokenJob();
  {
    const CapturedLog log;
    EXPECT_THAT(
        ResumeRefusal(job_id, [](auto& h) { h.mutable_patient_study()->set_patient_id("P2"); }),
        Invalid({job_id.c_str(), "patient_study.patient_id is 'P2', the job's is 'P1'",
                 "legal is the header with which the job was begun"}));
    EXPECT_THAT(log.text(), HasSubstr("INVALID_ARGUMENT"));
    EXPECT_THAT(log.text(), Not(HasSubstr("P2")));
    EXPECT_THAT(log.text(), Not(HasSubstr("P1")));
  }
  EXPECT_EQ(StateOf(job_id), v1::JOB_STATE_RECEIVING);
  const auto call = ResumeAs(job_id);
  EXPECT_EQ(call->next_frame_index, 10u);
  Complete(*call, 10);
  EXPECT_EQ(service_.results.volume(job_id),
            service_.results.volume(undisturbed.result()->job_id()));
}

TEST_F(ResumeTest, EveryDifferenceIsNamedWithBothValues) {
  v1::AcquisitionHeader begun = SmallHeader();
  begun.mutable_patient_study()->set_study_instance_uid("1.2.7");
  const std::string job_id = BrokenJob(begun);
  const auto refused = [&](std::vector<const char*> parts,
                           const std::function<void(v1::AcquisitionHeader&)>& change) {
    EXPECT_THAT(ResumeRefusal(job_id, change), Invalid(std::move(parts)));
  };
  refused({"patient_study.patient_name is 'Roe^John', the job's is 'Doe^Jane'"},
          [](auto& h) { h.mutable_patient_study()->set_patient_name("Roe^John"); });
  refused({"patient_study.accession_number is 'A2', the job's is 'A1'"},
          [](auto& h) { h.mutable_patient_study()->set_accession_number("A2"); });
  refused({"patient_study.study_instance_uid is '1.2.8', the job's is '1.2.7'"},
          [](auto& h) { h.mutable_patient_study()->set_study_instance_uid("1.2.8"); });
  refused({"patient_position is 'FFS', the job's is 'HFS'"},
          [](auto& h) { h.set_patient_position("FFS"); });
  refused({"frame_count is 41, the job's is 40"}, [](auto& h) { h.set_frame_count(41); });
  refused({"detector is 40x28 pixels of 32 bits, the job's is 36x28 pixels of 32 bits"},
          [](auto& h) { h.mutable_detector()->set_columns(40); });
  refused({"detector is 36x28 pixels of 16 bits"}, [](auto& h) {
    h.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
    h.set_i0_counts(60000);
  });
  refused({"the planned trajectory is that of checksum", "the job's is that of"},
          [](auto& h) { h.mutable_circular()->set_arc_deg(200); });
  refused({"protocol is 'fdk_smooth', the job's is 'fdk'"},
          [](auto& h) { h.set_protocol("fdk_smooth"); });
  // All at once.
  refused({"patient_id is 'P2'", "; frame_count is 41"}, [](auto& h) {
    h.mutable_patient_study()->set_patient_id("P2");
    h.set_frame_count(41);
  });
  // What the contract forbids is said as of any header.
  refused({"patient_study.patient_sex", "legal is"},
          [](auto& h) { h.mutable_patient_study()->set_patient_sex("Q"); });
  Complete(*ResumeAs(job_id, begun), 10);
}

TEST_F(ResumeTest, TheSameHeaderInOtherWordsIsTheSame) {
  const std::string job_id = BrokenJob();
  v1::AcquisitionHeader header = SmallHeader();
  header.clear_protocol();  // the server's default, which may have changed
  header.mutable_patient_study()->set_patient_name("DOE^JANE^");
  header.set_station_name("room-1b");
  Complete(*ResumeAs(job_id, header), 10);
}

TEST_F(ResumeTest, AProtocolThatIsGoneDoesNotMatter) {
  server_.reset();
  StartServer([](v1::ServerConfig& config) {
    v1::ReconstructionProtocol& protocol = *config.add_protocol();
    protocol.set_name("seasonal");
    protocol.mutable_grid()->mutable_auto_()->set_size(16);
  });
  v1::AcquisitionHeader header = SmallHeader();
  header.set_protocol("seasonal");
  const std::string job_id = BrokenJob(header);
  RestartService();
  EXPECT_EQ(Refusal([&](auto& h) { h = header; }).error_code(), StatusCode::NOT_FOUND);
  Complete(*ResumeAs(job_id, header), 10);
}

TEST_F(ResumeTest, AResultIsToldOnlyToItsAcquisition) {
  const Answer first = Acquire(WholeAcquisition(SmallHeader()));
  const std::string job_id = first.result()->job_id();
  EXPECT_THAT(
      ResumeRefusal(job_id, [](auto& h) { h.mutable_patient_study()->set_patient_id("P2"); }),
      Invalid({"patient_id is 'P2'"}));
  EXPECT_NE(ResumeAs(job_id)->End().result(), nullptr);
}

// Its volume would be of another grid, or of other values, than the console asked for.
TEST_F(ResumeTest, ARepeatedRequestIdOfAnEndedJobIsHeldAgainstWhatItsVolumeIsOf) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  header.set_tube_voltage_kv(90);
  const Answer first = Acquire(WholeAcquisition(header));
  ASSERT_NE(first.result(), nullptr) << first.status.error_message();
  const auto refused = [&](std::vector<const char*> parts,
                           const std::function<void(v1::AcquisitionHeader&)>& change) {
    parts.insert(parts.begin(), {"request_id is 'once'", first.result()->job_id().c_str()});
    EXPECT_THAT(Refusal([&](auto& h) {
                  h = header;
                  change(h);
                }),
                Invalid(std::move(parts)));
  };
  refused({"grid is 16x32x32 voxels, the job's is 32x32x32 voxels"},
          [](auto& h) { h.mutable_grid()->set_nx(16); });
  refused({"grid.spacing is (4, 4, 2) mm, the job's is (4, 4, 4) mm"},
          [](auto& h) { h.mutable_grid()->set_spacing_z_mm(2); });
  refused({"grid.origin is (-61.9, ", ", the job's is (-62, "}, [](auto& h) {
    h.mutable_grid()->set_centered(false);
    h.mutable_grid()->set_origin_x_mm(-61.9);
    h.mutable_grid()->set_origin_y_mm(-62);
    h.mutable_grid()->set_origin_z_mm(-62);
  });
  refused({"tube_voltage_kv is 110, the job's is 90"}, [](auto& h) { h.set_tube_voltage_kv(110); });
  refused({"pair is 'p' as mask, the job's is none"}, [](auto& h) {
    h.mutable_pair()->set_pair_id("p");
    h.mutable_pair()->set_role(v1::PAIR_ROLE_MASK);
  });
  header.clear_grid();  // the protocol's, which is not compared
  const Answer again = Acquire({HeaderMessage(header), FinishMessage()});
  ASSERT_NE(again.result(), nullptr) << again.status.error_message();
  EXPECT_EQ(again.result()->SerializeAsString(), first.result()->SerializeAsString());
}

TEST_F(ResumeTest, TheEmptyBeamIsThatOfTheJob) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(60000);
  const auto call = Begin(HeaderMessage(header));
  call->Break();
  const auto other = [&](auto& h) {
    h = header;
    h.set_i0_counts(30000.5);
  };
  EXPECT_THAT(Refusal(other), Invalid({"i0_counts is 30000.5, the job's is 60000"}));
  EXPECT_THAT(ResumeRefusal(call->job_id, other), Invalid({"i0_counts is 30000.5"}));
  EXPECT_EQ(Begin(HeaderMessage(header))->job_id, call->job_id);
}

TEST_F(ResumeTest, AJobSaysUntilWhenItWaitsForItsConsole) {
  const auto call = Begin(HeaderMessage(SmallHeader()));
  ASSERT_TRUE(call->Write(0, 10) && call->ReadAcknowledgement(9));
  EXPECT_FALSE(GetJob(call->job_id).has_awaits_console_until_time());
  const absl::Time before = absl::Now();
  call->Break();
  ASSERT_TRUE(Eventually([&] { return GetJob(call->job_id).has_awaits_console_until_time(); }));
  const absl::Time until =
      absl::FromUnixSeconds(GetJob(call->job_id).awaits_console_until_time().seconds());
  EXPECT_GT(until, before);
  EXPECT_LT(until, absl::Now() + absl::Minutes(10));
  const auto again = ResumeAs(call->job_id);
  EXPECT_FALSE(GetJob(call->job_id).has_awaits_console_until_time());
  Complete(*again, 10);
  EXPECT_FALSE(GetJob(call->job_id).has_awaits_console_until_time());
  // After a restart nobody is there yet.
  const std::string broken = BrokenJob();
  RestartService();
  EXPECT_TRUE(GetJob(broken).has_awaits_console_until_time());
}

TEST_F(ResumeTest, AJobThatHasEndedWithoutAVolumeSaysThatAndWhen) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  const std::string job_id = BrokenJob(header);
  v1::CancelJobRequest request;
  request.set_job_id(job_id);
  request.set_reason(v1::CANCEL_REASON_PATIENT_REFUSED);
  grpc::ClientContext context;
  v1::Job cancelled;
  ASSERT_TRUE(jobs_->CancelJob(&context, request, &cancelled).ok());
  const std::string job = absl::StrCat("job '", job_id, "' was cancelled already, at 20");
  for (const v1::AcquireRequest& first : {ResumeMessage(job_id, header), HeaderMessage(header)}) {
    EXPECT_THAT(Acquire({first}).status,
                Refused(StatusCode::CANCELLED,
                        std::vector<const char*>(
                            {job.c_str(), " UTC: ", "cancelled on request", "begin a new one"})));
  }
}

TEST_F(ResumeTest, ARepeatedRequestIdSaysWhatDiffers) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  BrokenJob(header);
  const CapturedLog log;
  EXPECT_THAT(Refusal([&](auto& h) {
                h.set_request_id("once");
                h.mutable_patient_study()->set_patient_id("P2");
              }),
              Invalid({"request_id is 'once'", "patient_id is 'P2', the job's is 'P1'",
                       "legal is an id that was never used"}));
  EXPECT_THAT(log.text(), Not(HasSubstr("P2")));
}

// Of matrices that are listed, nothing else tells it.
TEST_F(ResumeTest, AnotherPixelPitchIsAnotherAcquisition) {
  v1::AcquisitionHeader begun = SmallHeader();
  begun.set_request_id("once");
  const auto call = Begin(HeaderMessage(begun));
  const auto refused = [&](const char* part,
                           const std::function<void(v1::AcquisitionHeader&)>& change) {
    EXPECT_THAT(Refusal([&](auto& h) {
                  h = begun;
                  change(h);
                }),
                Invalid({"request_id is 'once'", part}));
  };
  refused("detector.pitch_u_mm is",
          [](auto& h) { h.mutable_detector()->set_pitch_u_mm(1.01 * h.detector().pitch_u_mm()); });
  refused("detector.pitch_v_mm is",
          [](auto& h) { h.mutable_detector()->set_pitch_v_mm(1.01 * h.detector().pitch_v_mm()); });
}

TEST_F(ResumeTest, AnOlderConsoleGoesOnWithoutAHeaderAndTheLogSaysSo) {
  const std::string job_id = BrokenJob();
  const CapturedLog log;
  Complete(*Resume(job_id), 10);
  EXPECT_THAT(log.text(), HasSubstr(absl::StrCat("event=resume_unproven job=", job_id)));
}

// ---- Who has it --------------------------------------------------------------------------------

/// Frames of another detector.
v1::AcquireRequest StrangeFrame(int index) {
  v1::AcquireRequest message = FrameMessage(index);
  message.mutable_frame()->mutable_pixels()->resize(2000);
  message.mutable_frame()->clear_has_checksum();
  message.mutable_frame()->clear_crc32c();
  return message;
}

TEST_F(ResumeTest, AMistypedResumeTakesNothingOver) {
  for (const bool with_header : {false, true}) {
    SCOPED_TRACE(with_header);
    const auto first = Begin();
    ASSERT_TRUE(first->Write(0, 10));
    ASSERT_TRUE(first->ReadAcknowledgement(9));
    const auto second = with_header ? ResumeAs(first->job_id) : Resume(first->job_id);
    EXPECT_EQ(second->next_frame_index, 10u);
    ASSERT_TRUE(second->stream->Write(StrangeFrame(10)));
    EXPECT_THAT(second->End().status,
                Invalid({"frame.pixels of frame 10 has 2000 bytes", "legal is 4032"}));
    Complete(*first, 10);
  }
}

TEST_F(ResumeTest, ARefusedResumeTakesNothingOver) {
  const auto first = Begin();
  ASSERT_TRUE(first->Write(0, 10));
  EXPECT_THAT(ResumeRefusal(first->job_id, [](auto& h) { h.mutable_detector()->set_rows(30); }),
              Invalid({"detector is 36x30"}));
  Complete(*first, 10);
}

TEST_F(ResumeTest, AnIllegalFrameOfAResumedStreamEndsTheStreamAlone) {
  const std::string job_id = BrokenJob();
  const auto second = ResumeAs(job_id);
  ASSERT_TRUE(second->Write(10, 12));
  ASSERT_TRUE(second->ReadAcknowledgement(11));
  ASSERT_TRUE(second->stream->Write(StrangeFrame(12)));
  EXPECT_THAT(second->End().status, Invalid({"frame 12 has 2000 bytes"}));
  EXPECT_EQ(StateOf(job_id), v1::JOB_STATE_RECEIVING);
  const auto third = ResumeAs(job_id);
  EXPECT_EQ(third->next_frame_index, 12u);
  Complete(*third, 12);
}

/// A frame as it would be of another scan under the same header.
v1::AcquireRequest FrameOfAnotherScan(int index) {
  v1::AcquireRequest message = FrameMessage(index);
  message.mutable_frame()->mutable_pixels()->front() ^= 1;
  message.mutable_frame()->set_has_checksum(false);
  message.mutable_frame()->set_crc32c(0);
  return message;
}

TEST_F(ResumeTest, FramesOfAnotherScanUnderTheSameHeaderAreRefused) {
  const std::string job_id = BrokenJob();
  const auto second = ResumeAs(job_id);
  ASSERT_TRUE(second->stream->Write(FrameOfAnotherScan(9)));
  EXPECT_THAT(second->End().status,
              Invalid({"frame.pixels of frame 9", "they are of another scan"}));
  EXPECT_EQ(StateOf(job_id), v1::JOB_STATE_RECEIVING);
  const auto third = ResumeAs(job_id);
  EXPECT_EQ(third->next_frame_index, 10u);
  ASSERT_TRUE(third->Write(9, 10));  // the same again
  Complete(*third, 10);
}

TEST_F(ResumeTest, FramesOfAnotherScanTakeNothingOver) {
  const auto first = Begin();
  ASSERT_TRUE(first->Write(0, 10));
  ASSERT_TRUE(first->ReadAcknowledgement(9));
  const auto second = ResumeAs(first->job_id);
  ASSERT_TRUE(second->stream->Write(FrameOfAnotherScan(3)));
  EXPECT_THAT(second->End().status, Invalid({"frame.pixels of frame 3"}));
  Complete(*first, 10);
}

TEST_F(ResumeTest, ARepeatedHeaderTakesOverWithItsFirstFrameToo) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  const auto first = Begin(HeaderMessage(header));
  ASSERT_TRUE(first->Write(0, 10));
  ASSERT_TRUE(first->ReadAcknowledgement(9));
  const auto second = Begin(HeaderMessage(header));
  EXPECT_EQ(second->job_id, first->job_id);
  ASSERT_TRUE(first->Write(10, 12));
  ASSERT_TRUE(first->ReadAcknowledgement(11));
  ASSERT_TRUE(second->Write(10, 11));
  EXPECT_THAT(first->End().status,
              Refused(StatusCode::ABORTED, std::vector<const char*>({"taken over"})));
  Complete(*second, 11);
}

// All frames are there but one that never comes; the first connection is dead, and nobody knows.
TEST_F(ResumeTest, FinishTakesOverWhereTheHeaderIsTheSame) {
  const auto first = Begin();
  ASSERT_TRUE(first->Write(0, 39));
  ASSERT_TRUE(first->ReadAcknowledgement(38));
  const auto unproven = Resume(first->job_id);
  v1::AcquireRequest finish = FinishMessage();
  finish.mutable_finish()->mutable_exposure()->set_exposure_mas(7);
  ASSERT_TRUE(unproven->stream->Write(finish));
  const auto proven = ResumeAs(first->job_id);
  finish.mutable_finish()->mutable_exposure()->set_exposure_mas(8);
  ASSERT_TRUE(proven->stream->Write(finish));
  EXPECT_NE(proven->End().result(), nullptr);
  EXPECT_EQ(first->End().status.error_code(), StatusCode::ABORTED);
  // The other one listened.
  EXPECT_NE(unproven->End().result(), nullptr);
  EXPECT_EQ(service_.results.job(first->job_id).facts.exposure_mas, 8);
}

TEST_F(ResumeTest, TheDeadlineOfAListenerCancelsNothing) {
  const auto first = Begin();
  ASSERT_TRUE(first->Write(0, 10));
  Call listener;
  listener.context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  listener.stream = acquisitions_->Acquire(&listener.context);
  ASSERT_TRUE(listener.stream->Write(ResumeMessage(first->job_id, SmallHeader())));
  EXPECT_EQ(listener.End().status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  Complete(*first, 10);
}

TEST_F(ResumeTest, AListenerIsToldThatTheServiceStops) {
  const auto first = Begin();
  ASSERT_TRUE(first->Write(0, 10));
  const auto listener = ResumeAs(first->job_id);
  service_.engine->SuspendAll();
  for (Call* call : {first.get(), listener.get()}) {
    EXPECT_THAT(call->End().status,
                Refused(StatusCode::UNAVAILABLE, std::vector<const char*>({"goes on"})));
  }
}

// ---- Whose it is -------------------------------------------------------------------------------

class OwnerTest : public ResumeTest {
 protected:
  void SetUp() override {
    const std::filesystem::path tokens = service_.directory.path() / "tokens";
    std::ofstream file(tokens);
    for (const char* room : {"room-1", "room-2"}) {
      file << "console " << crypto::Sha256Hex(absl::StrCat(room, "-token")) << " " << room << "\n";
    }
    file.close();
    std::filesystem::permissions(tokens, std::filesystem::perms(0600));
    roster_ = std::make_unique<roles::Roster>(*roles::TokenBook::Open(tokens.string()),
                                              std::vector<roles::CertificateHolder>());
    partners_.audit = &audit_;
    StartServer();
    In("room-1");
  }
  ~OwnerTest() override { server_.reset(); }  // which tells the audit
  /// Whose console the next calls are.
  void In(const std::string& room) { authorization_ = absl::StrCat("Bearer ", room, "-token"); }
  audit::Event LastRecorded() const {
    const std::vector<audit::Event> events = audit_.events();
    EXPECT_FALSE(events.empty());
    return events.empty() ? audit::Event() : events.back();
  }

  KeptEvents audit_;
};

TEST_F(OwnerTest, AnotherRoomsScanIsNotResumed) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_request_id("once");
  const std::string job_id = BrokenJob(header);
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    if (restarted) RestartService();
    In("room-2");
    for (const v1::AcquireRequest& opening :
         {ResumeMessage(job_id), ResumeMessage(job_id, header), HeaderMessage(header)}) {
      EXPECT_THAT(Acquire({opening, FrameMessage(10)}).status,
                  Refused(StatusCode::PERMISSION_DENIED,
                          std::vector<const char*>({job_id.c_str(), "another caller", "room-2"})));
      const audit::Event recorded = LastRecorded();
      EXPECT_EQ(recorded.action, audit::Action::kAcquire);
      EXPECT_EQ(recorded.outcome, audit::Outcome::kRefused);
      EXPECT_EQ(recorded.actor.name, "room-2");
      EXPECT_THAT(recorded.detail, HasSubstr(job_id));
    }
    In("room-1");
    EXPECT_EQ(service_.table->Get(job_id).value()->progress.frames_received, 10);
  }
  Complete(*ResumeAs(job_id, header), 10);
}

TEST_F(OwnerTest, ARefusedResumeIsRecordedWithItsJobAndPatient) {
  const std::string job_id = BrokenJob();
  In("room-2");
  Acquire({ResumeMessage(job_id, SmallHeader())});
  const audit::Event recorded = LastRecorded();
  EXPECT_EQ(recorded.outcome, audit::Outcome::kRefused);
  EXPECT_THAT(recorded.job_ids, ::testing::ElementsAre(job_id));
  EXPECT_THAT(recorded.patient_ids, ::testing::ElementsAre("P1"));
}

TEST_F(OwnerTest, WithoutSignInJobsBelongToNobody) {
  const std::string of_room_1 = BrokenJob();
  roster_.reset();
  authorization_.clear();
  RestartService();
  Complete(*ResumeAs(of_room_1), 10);
}

// ---- Whose study it is -------------------------------------------------------------------------

class StudyTest : public ResumeTest {
 protected:
  static v1::AcquisitionHeader Header(const std::string& patient_id) {
    v1::AcquisitionHeader header = SmallHeader();
    header.mutable_patient_study()->set_study_instance_uid("1.2.840.99");
    header.mutable_patient_study()->set_patient_id(patient_id);
    return header;
  }
  void ExpectRefused(const std::string& patient_id) {
    const CapturedLog log;
    const grpc::Status status = Refusal([&](auto& h) { h = Header(patient_id); });
    EXPECT_THAT(status, Invalid({"patient_study.study_instance_uid is '1.2.840.99'",
                                 "belongs to another patient"}));
    EXPECT_THAT(status.error_message(), Not(HasSubstr("P1")));
    EXPECT_THAT(log.text(), Not(HasSubstr("1.2.840.99")));
  }
};

TEST_F(StudyTest, AnotherPatientsStudyIsRefusedBeforeTheExposure) {
  const auto active = Begin(HeaderMessage(Header("P1")));
  ExpectRefused("P2");
  Complete(*active, 0);
  ASSERT_TRUE(Eventually([&] { return service_.HoldsNothing(); }));
  ExpectRefused("P2");
  // The same patient again, and one of whom no id is known.
  EXPECT_NE(Acquire(WholeAcquisition(Header("P1"))).result(), nullptr);
  EXPECT_NE(Acquire(WholeAcquisition(Header(""))).result(), nullptr);
}

TEST_F(StudyTest, AStudyThatIsStoredWithoutAPatientIdIsAnybodys) {
  EXPECT_NE(Acquire(WholeAcquisition(Header(""))).result(), nullptr);
  EXPECT_NE(Acquire(WholeAcquisition(Header("P2"))).result(), nullptr);
}

}  // namespace
}  // namespace isocenter::testing
