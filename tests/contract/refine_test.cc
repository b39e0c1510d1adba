// RefineJob, and what is told of refinements.
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RefineTest : public ContractTest {
 protected:
  void SetUp() override {
    service_.Stop();
    service_.options.retention = absl::Hours(1);
    service_.Start();
    StartServer([](v1::ServerConfig& config) {
      v1::ReconstructionProtocol& quick = *config.add_protocol();
      quick.set_name("quick");
      quick.mutable_refinement()->set_algorithm(v1::REFINEMENT_ALGORITHM_OS_SART);
      quick.mutable_refinement()->set_iterations(2);
      quick.mutable_refinement()->set_subsets(4);
      v1::ReconstructionProtocol& endless = *config.add_protocol();
      endless = quick;
      endless.set_name("endless");
      endless.mutable_refinement()->set_iterations(1000);
      v1::ReconstructionProtocol& early = *config.add_protocol();
      early = quick;
      early.set_name("early");
      early.mutable_refinement()->set_early_passes(3);
      // Of so little water that the middle of the scan is metal.
      v1::ReconstructionProtocol& dense = *config.add_protocol();
      dense.set_name("dense");
      dense.set_mu_water_per_mm(0.009);
      v1::ReconstructionProtocol& metal = *config.add_protocol();
      metal = dense;
      metal.set_name("dense_metal");
      metal.mutable_refinement()->mutable_second_pass()->set_metal(true);
    });
  }
  std::string CompletedJob(const std::string& protocol = "fdk") {
    v1::AcquisitionHeader header = SmallHeader();
    header.set_protocol(protocol);
    const Answer answer = Acquire(WholeAcquisition(header));
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.accepted()->job_id();
  }
  static v1::RefineJobRequest Request(const std::string& id, const std::string& protocol) {
    v1::RefineJobRequest request;
    request.set_job_id(id);
    request.set_protocol(protocol);
    return request;
  }
  static v1::RefineJobRequest SecondPass(const std::string& id, const std::string& protocol,
                                         bool metal, bool bone) {
    v1::RefineJobRequest request = Request(id, protocol);
    request.mutable_second_pass()->set_metal(metal);
    request.mutable_second_pass()->set_bone(bone);
    return request;
  }
  /// Of a job, once it is completed.
  v1::Job Completed(const std::string& id) {
    EXPECT_TRUE(Ends(id));
    const v1::Job job = GetJob(id);
    EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
    return job;
  }
  grpc::Status Refine(const v1::RefineJobRequest& request, v1::Job* job) {
    grpc::ClientContext context;
    SetDeadline(context);
    return jobs_->RefineJob(&context, request, job);
  }
  grpc::Status Refusal(const v1::RefineJobRequest& request) {
    v1::Job job;
    return Refine(request, &job);
  }
};

TEST_F(RefineTest, MakesAJobThatTellsEachIteration) {
  const std::string source = CompletedJob();
  v1::Job accepted;
  const grpc::Status status = Refine(Request(source, "quick"), &accepted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(accepted.refines_job_id(), source);
  EXPECT_EQ(accepted.job_class(), v1::JOB_CLASS_INTERACTIVE);
  EXPECT_EQ(accepted.protocol(), "quick");
  EXPECT_EQ(accepted.progress().iterations_total(), 2u);

  grpc::ClientContext context;
  SetDeadline(context);
  v1::WatchJobRequest watch;
  watch.set_job_id(accepted.job_id());
  const auto reader = jobs_->WatchJob(&context, watch);
  v1::Job job;
  bool told_before_the_end = false;
  while (reader->Read(&job)) {
    told_before_the_end |= job.state() != v1::JOB_STATE_COMPLETED && job.iteration_size() > 0;
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(told_before_the_end);
  EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  ASSERT_EQ(job.iteration_size(), 2);
  EXPECT_EQ(job.iteration(1).iteration(), 2u);
  EXPECT_GT(job.iteration(1).relative_residual(), 0);
  EXPECT_LT(job.iteration(1).relative_residual(), job.iteration(0).relative_residual());
  EXPECT_EQ(job.progress().iterations_done(), 2u);
  EXPECT_EQ(job.progress().refined_fraction(), 1);
  EXPECT_GT(job.result().timings().refine_seconds(), 0);
  EXPECT_EQ(job.result().job_id(), accepted.job_id());

  v1::ListJobsResponse listed;
  grpc::ClientContext list_context;
  SetDeadline(list_context);
  ASSERT_TRUE(jobs_->ListJobs(&list_context, {}, &listed).ok());
  ASSERT_EQ(listed.job_size(), 2);
  EXPECT_EQ(listed.job(0).refines_job_id(), source);
  EXPECT_EQ(listed.job(0).iteration_size(), 0);
  EXPECT_EQ(listed.job(1).refines_job_id(), "");
}

TEST_F(RefineTest, AProtocolRefinesByItself) {
  const std::string source = CompletedJob("quick");
  EXPECT_EQ(GetJob(source).state(), v1::JOB_STATE_COMPLETED);
  const std::string refined = source + "-ref";
  ASSERT_TRUE(Ends(refined));
  const v1::Job job = GetJob(refined);
  EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_EQ(job.refines_job_id(), source);
  EXPECT_EQ(job.progress().iterations_done(), 2u);
}

TEST_F(RefineTest, GoesOnAfterARestartAsItWasAsked) {
  const std::string source = CompletedJob();
  v1::Job accepted;
  ASSERT_TRUE(Refine(Request(source, "quick"), &accepted).ok());
  RestartService();  // without the protocol
  ASSERT_TRUE(Ends(accepted.job_id()));
  const v1::Job job = GetJob(accepted.job_id());
  EXPECT_EQ(job.state(), v1::JOB_STATE_COMPLETED) << job.error_message();
  EXPECT_EQ(job.progress().iterations_done(), 2u);
}

TEST_F(RefineTest, RefusesWhatCannotBe) {
  const auto refused = [](StatusCode code, std::vector<const char*> parts) {
    return Refused(code, parts);
  };
  const std::string source = CompletedJob();
  EXPECT_THAT(Refusal(Request("nobody", "quick")),
              refused(StatusCode::NOT_FOUND, {"there is no job 'nobody'"}));
  EXPECT_THAT(Refusal(Request(source, "magic")),
              refused(StatusCode::NOT_FOUND, {"protocol is 'magic'"}));
  EXPECT_THAT(Refusal(Request(source, "fdk")),
              Invalid({"'fdk', which has no refinement", "fdk_then_ossart", "quick"}));
  v1::RefineJobRequest request = Request(source, "quick");
  request.set_deadline_seconds(-1);
  EXPECT_THAT(Refusal(request), Invalid({"deadline_seconds is -1", "0 to 604800"}));
  request.set_deadline_seconds(0);
  request.set_job_class(v1::JOB_CLASS_LIVE);
  EXPECT_THAT(Refusal(request), Invalid({"job_class is 1", "JOB_CLASS_BATCH"}));
  request.clear_job_class();
  request.set_request_id("no blanks");
  EXPECT_THAT(Refusal(request), Invalid({"request_id"}));
  const auto call = Begin();
  EXPECT_THAT(Refusal(Request(call->job_id, "quick")),
              refused(StatusCode::FAILED_PRECONDITION, {"is receiving", "only a completed job"}));
  call->Break();
}

TEST_F(RefineTest, FramesThatAreGoneAreSaidToBeWithTheRetention) {
  const std::string source = CompletedJob();
  ASSERT_TRUE(Eventually([&] { return service_.HoldsNothing(); }));
  ASSERT_TRUE(service_.spool->Remove(source).ok());
  EXPECT_THAT(Refusal(Request(source, "quick")),
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({"no longer in the spool", "for 3600 s"})));
}

TEST_F(RefineTest, ARepeatedRequestMakesNoSecondJob) {
  const std::string source = CompletedJob();
  v1::RefineJobRequest request = Request(source, "quick");
  request.set_request_id("once");
  v1::Job first, second;
  ASSERT_TRUE(Refine(request, &first).ok());
  ASSERT_TRUE(Refine(request, &second).ok());
  EXPECT_EQ(first.job_id(), second.job_id());
  request.set_protocol("endless");
  EXPECT_THAT(Refusal(request), Invalid({"request_id is 'once'", first.job_id().c_str()}));
}

TEST_F(RefineTest, DeadlineCancelAndDelete) {
  const std::string source = CompletedJob();
  v1::RefineJobRequest request = Request(source, "endless");
  request.set_deadline_seconds(4);
  v1::Job late;
  ASSERT_TRUE(Refine(request, &late).ok());
  ASSERT_TRUE(Ends(late.job_id()));
  const v1::Job stopped = GetJob(late.job_id());
  EXPECT_EQ(stopped.state(), v1::JOB_STATE_COMPLETED) << stopped.error_message();
  ASSERT_EQ(stopped.warning_size(), 1);
  EXPECT_EQ(stopped.warning(0).kind(), v1::WARNING_KIND_STOPPED_EARLY);
  EXPECT_THAT(stopped.result().warning(0), HasSubstr("of 1000 iterations"));

  v1::Job endless;
  ASSERT_TRUE(Refine(Request(source, "endless"), &endless).ok());
  grpc::ClientContext delete_context, cancel_context;
  SetDeadline(delete_context);
  SetDeadline(cancel_context);
  v1::DeleteJobRequest remove;
  remove.set_job_id(source);
  v1::DeleteJobResponse removed;
  EXPECT_THAT(jobs_->DeleteJob(&delete_context, remove, &removed),
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({endless.job_id().c_str(), "is made from"})));
  v1::CancelJobRequest cancel;
  cancel.set_job_id(endless.job_id());
  v1::Job cancelled;
  ASSERT_TRUE(jobs_->CancelJob(&cancel_context, cancel, &cancelled).ok());
  EXPECT_EQ(cancelled.state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(RefineTest, ASecondPassIsAskedForByAProtocolOrARequest) {
  const std::string followed = CompletedJob("dense_metal"), source = CompletedJob("dense");
  const v1::Job by_protocol = Completed(followed + "-ref");
  EXPECT_TRUE(by_protocol.second_pass().metal());
  EXPECT_FALSE(by_protocol.second_pass().bone());
  EXPECT_EQ(by_protocol.progress().iterations_total(), 0u);
  EXPECT_EQ(by_protocol.iteration_size(), 0);
  EXPECT_EQ(by_protocol.progress().refined_fraction(), 1);
  // Of the protocol that is named, and of that of the job.
  for (const char* const protocol : {"dense_metal", "dense", ""}) {
    v1::Job accepted;
    const grpc::Status status = Refine(SecondPass(source, protocol, true, false), &accepted);
    ASSERT_TRUE(status.ok()) << protocol << ": " << status.error_message();
    EXPECT_EQ(accepted.protocol(), *protocol == '\0' ? "dense" : protocol);
    const v1::Job job = Completed(accepted.job_id());
    EXPECT_TRUE(job.has_second_pass());
    EXPECT_GT(job.result().timings().refine_seconds(), 0);
    EXPECT_EQ(service_.results.volume(job.job_id()), service_.results.volume(by_protocol.job_id()));
  }
  EXPECT_NE(service_.results.volume(source), service_.results.volume(by_protocol.job_id()));
  // A protocol by its name, as a console of before second passes asks.
  v1::Job older;
  ASSERT_TRUE(Refine(Request(source, "dense_metal"), &older).ok());
  EXPECT_EQ(service_.results.volume(Completed(older.job_id()).job_id()),
            service_.results.volume(by_protocol.job_id()));
}

// It needs no calibration.
TEST_F(RefineTest, ASecondPassAgainstTheConeBeamArtefact) {
  const std::string source = CompletedJob();
  v1::RefineJobRequest request = SecondPass(source, "", false, false);
  request.mutable_second_pass()->set_cone_beam(true);
  v1::Job accepted;
  const grpc::Status status = Refine(request, &accepted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::Job job = Completed(accepted.job_id());
  EXPECT_TRUE(job.second_pass().cone_beam());
  EXPECT_FALSE(job.second_pass().metal());
  EXPECT_NE(service_.results.volume(source), service_.results.volume(job.job_id()));
  EXPECT_THAT(job.finding(), ElementsAre(HasSubstr("cone-beam")));
}

TEST_F(RefineTest, ASecondPassThatFoundNothingSaysSo) {
  const std::string source = CompletedJob();
  v1::Job accepted;
  ASSERT_TRUE(Refine(SecondPass(source, "", true, false), &accepted).ok());
  EXPECT_THAT(accepted.finding(), IsEmpty());
  const v1::Job job = Completed(accepted.job_id());
  EXPECT_THAT(job.finding(), ElementsAre(HasSubstr("nothing was corrected")));
  EXPECT_EQ(service_.results.volume(source), service_.results.volume(job.job_id()));
}

// Of the small scan, whose frames do not move, and of too little of it.
TEST_F(RefineTest, ASecondPassAgainstMotion) {
  const std::string source = CompletedJob();
  v1::RefineJobRequest request = SecondPass(source, "", false, false);
  request.mutable_second_pass()->set_motion(true);
  v1::Job accepted;
  const grpc::Status status = Refine(request, &accepted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(accepted.has_motion());
  const v1::Job job = Completed(accepted.job_id());
  EXPECT_TRUE(job.second_pass().motion());
  ASSERT_TRUE(job.has_motion());
  EXPECT_FALSE(job.motion().found()) << job.finding(0);
  EXPECT_GT(job.motion().entropy_before(), 0);
  EXPECT_EQ(job.motion().pose_size(), 0);
  EXPECT_THAT(job.finding(), ElementsAre(HasSubstr("motion: none found")));
  EXPECT_EQ(service_.results.volume(source), service_.results.volume(job.job_id()));

  request.mutable_second_pass()->set_metal(true);
  EXPECT_THAT(Refusal(request), Invalid({"refinement.second_pass: motion is set with metal",
                                         "legal is one of them"}));
}

TEST_F(RefineTest, ASecondPassThatLooksForTheDetector) {
  const std::string source = CompletedJob();
  v1::RefineJobRequest request = SecondPass(source, "", false, false);
  request.mutable_second_pass()->set_self_calibrate(true);
  v1::Job accepted;
  const grpc::Status status = Refine(request, &accepted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(accepted.has_self_calibration());
  const v1::Job job = Completed(accepted.job_id());
  EXPECT_TRUE(job.second_pass().self_calibrate());
  ASSERT_TRUE(job.has_self_calibration());
  EXPECT_GT(job.self_calibration().entropy_before(), 0);
  EXPECT_EQ(job.self_calibration().move_size() > 0, job.self_calibration().found());
  EXPECT_EQ(service_.results.volume(source) == service_.results.volume(job.job_id()),
            !job.self_calibration().found());
  EXPECT_THAT(job.finding(), ElementsAre(HasSubstr("self-calibration: ")));

  request.mutable_second_pass()->set_cone_beam(true);
  EXPECT_THAT(Refusal(request), Invalid({"refinement.second_pass: self_calibrate is set with "
                                         "cone_beam",
                                         "legal is one of them"}));
}

TEST_F(RefineTest, ASecondPassThatCompletesRows) {
  const std::string source = CompletedJob();
  v1::RefineJobRequest request = SecondPass(source, "", false, false);
  request.mutable_second_pass()->set_complete_rows(true);
  v1::Job accepted;
  const grpc::Status status = Refine(request, &accepted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::Job job = Completed(accepted.job_id());
  EXPECT_TRUE(job.second_pass().complete_rows());
  EXPECT_THAT(job.finding(), ElementsAre(HasSubstr("truncation: ")));

  request.mutable_second_pass()->set_bone(true);
  EXPECT_THAT(Refusal(request), Invalid({"refinement.second_pass: complete_rows is set with bone",
                                         "legal is one of them"}));
}

// The job is in the recipe, which outlives a restart, and not in the protocol.
TEST_F(RefineTest, AnEarlierVolumeIsHeldBesideTheFrames) {
  const std::string earlier = CompletedJob(), source = CompletedJob();
  v1::RefineJobRequest request = SecondPass(source, "", false, false);
  request.mutable_second_pass()->set_self_calibrate(true);
  request.mutable_second_pass()->set_reference_job_id(earlier);
  v1::Job accepted;
  const grpc::Status status = Refine(request, &accepted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(accepted.second_pass().reference_job_id(), earlier);
  EXPECT_EQ(accepted.refines_job_id(), source);
  RestartService();
  const v1::Job job = Completed(accepted.job_id());
  EXPECT_EQ(job.second_pass().reference_job_id(), earlier);
  ASSERT_TRUE(job.self_calibration().has_reference());
  EXPECT_GT(job.self_calibration().reference().similarity_before(), 0.85);
  EXPECT_GT(job.self_calibration().reference().covered(), 0.5);
  ASSERT_GE(job.finding_size(), 1);
  EXPECT_THAT(job.finding(0), HasSubstr("edges correlate by "));
}

TEST_F(RefineTest, AReferenceIsRefusedWithWhatIsLegal) {
  const std::string source = CompletedJob();
  v1::RefineJobRequest request = SecondPass(source, "", false, false);
  request.mutable_second_pass()->set_self_calibrate(true);
  request.mutable_second_pass()->set_reference_job_id("nobody");
  EXPECT_THAT(Refusal(request),
              Refused(StatusCode::NOT_FOUND,
                      std::vector<const char*>({"reference_job_id: ", "'nobody'",
                                                "legal is a job whose volume is stored where the "
                                                "frames are"})));
  request.mutable_second_pass()->set_reference_job_id("../spool");
  EXPECT_THAT(Refusal(request), Invalid({"second_pass.reference_job_id is '../spool'",
                                         "at most 64 characters of [A-Za-z0-9_.-]"}));
  request.mutable_second_pass()->set_reference_job_id(source);
  EXPECT_THAT(Refusal(request), Invalid({"legal is a job of another acquisition"}));
  request.mutable_second_pass()->set_self_calibrate(false);
  request.mutable_second_pass()->set_metal(true);
  EXPECT_THAT(Refusal(request), Invalid({"refinement.second_pass.reference_job_id is '",
                                         "legal is none without self_calibrate"}));
}

TEST_F(RefineTest, ASecondPassGoesOnAfterARestart) {
  const std::string source = CompletedJob("dense");
  v1::Job accepted;
  ASSERT_TRUE(Refine(SecondPass(source, "", true, false), &accepted).ok());
  RestartService();  // without the protocol
  EXPECT_TRUE(Completed(accepted.job_id()).second_pass().metal());
  EXPECT_NE(service_.results.volume(source), service_.results.volume(accepted.job_id()));
}

TEST_F(RefineTest, ASecondPassIsRefusedWithWhatIsLegal) {
  const std::string source = CompletedJob("dense");
  EXPECT_THAT(Refusal(SecondPass(source, "quick", true, false)),
              Invalid({"second_pass is set with protocol 'quick'", "REFINEMENT_ALGORITHM_OS_SART",
                       "legal is a protocol without iterations"}));
  EXPECT_THAT(Refusal(SecondPass(source, "", false, false)),
              Invalid({"refinement.second_pass is for nothing",
                       "metal, bone, scatter, cone_beam or several"}));
  EXPECT_THAT(Refusal(SecondPass(source, "magic", true, false)),
              Refused(StatusCode::NOT_FOUND, std::vector<const char*>({"protocol is 'magic'"})));
  EXPECT_THAT(Refusal(SecondPass("nobody", "", true, false)),
              Refused(StatusCode::NOT_FOUND, std::vector<const char*>({"there is no job"})));
  EXPECT_THAT(Refusal(SecondPass(source, "", true, true)),
              Refused(StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>({"was acquired without a calibration",
                                                "whose calibration has a bone table"})));
}

// A job whose own protocol iterates has an FDK volume, too.
TEST_F(RefineTest, ASecondPassOfAJobThatWasRefinedOtherwise) {
  const std::string source = CompletedJob("quick");
  v1::Job accepted;
  const grpc::Status status = Refine(SecondPass(source, "", true, false), &accepted);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(Completed(accepted.job_id()).second_pass().metal());
}

TEST_F(RefineTest, AVolumeOfOnePhase) {
  v1::AcquisitionHeader header = SmallHeader();
  header.set_phase_cycle(v1::PHASE_CYCLE_RESPIRATORY);
  std::vector<v1::AcquireRequest> messages = WholeAcquisition(header);
  for (auto& message : messages) {
    if (!message.has_frame()) continue;
    message.mutable_frame()->set_phase(0.1F * static_cast<float>(message.frame().index() % 10));
  }
  const Answer answer = Acquire(messages);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  const std::string source = answer.accepted()->job_id();
  EXPECT_EQ(Completed(source).phase_cycle(), v1::PHASE_CYCLE_RESPIRATORY);

  const auto request = [&](double phase, double width, const std::string& protocol = "") {
    v1::RefineJobRequest made = Request(source, protocol);
    made.mutable_phase()->set_phase(phase);
    made.mutable_phase()->set_width(width);
    return made;
  };
  v1::Job accepted;
  ASSERT_TRUE(Refine(request(0.5, 0.5), &accepted).ok());
  EXPECT_EQ(accepted.protocol(), "fdk");
  const v1::Job job = Completed(accepted.job_id());
  EXPECT_EQ(job.phase().phase(), 0.5);
  EXPECT_EQ(job.phase().width(), 0.5);
  EXPECT_EQ(job.phase().frames(), 28u);
  EXPECT_GT(job.phase().largest_gap_deg(), 20);
  EXPECT_FALSE(job.has_phase_cycle());
  EXPECT_EQ(job.refines_job_id(), source);
  ASSERT_EQ(job.warning_size(), 1);
  EXPECT_EQ(job.warning(0).kind(), v1::WARNING_KIND_PHASE_GAP);
  ASSERT_TRUE(Refine(request(0, 0.5, "quick"), &accepted).ok());
  EXPECT_EQ(Completed(accepted.job_id()).iteration_size(), 2);

  const auto refused = [&](const v1::RefineJobRequest& wrong, StatusCode code,
                           const std::string& text) {
    const grpc::Status status = Refusal(wrong);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  };
  constexpr StatusCode kInvalid = StatusCode::INVALID_ARGUMENT;
  refused(request(1, 0.5), kInvalid, "phase.phase is 1; legal is 0 to less than 1");
  refused(request(std::nan(""), 0.5), kInvalid, "phase.phase is nan");
  refused(request(0, 1.5), kInvalid, "phase.width is 1.5; legal is 0 to 1");
  refused(request(0, 0.5, "dense_metal"), kInvalid, "phase is set with protocol 'dense_metal'");
  refused(
      request(0, 0.5, "early"), kInvalid,
      "phase is set with protocol 'early', which has 3 early passes; legal is a protocol without");
  v1::RefineJobRequest both = request(0, 0.5);
  both.mutable_second_pass()->set_metal(true);
  refused(both, kInvalid, "second_pass is set with phase");
  v1::RefineJobRequest gates = request(0, 0);
  for (const uint32_t illegal : {1u, 51u}) {
    gates.mutable_phase()->set_of_phases(illegal);
    refused(gates, kInvalid, absl::StrCat("phase.of_phases is ", illegal, "; legal is 0, 2 to 50"));
  }
  gates.mutable_phase()->set_of_phases(10);
  refused(gates, StatusCode::FAILED_PRECONDITION, "of width 0.1 around phase 0 holds 4 of 40");
  v1::RefineJobRequest still = request(0, 0.5);
  still.set_job_id(CompletedJob());
  refused(still, StatusCode::FAILED_PRECONDITION, "0 of 40 frames tell a phase");
}

}  // namespace
}  // namespace isocenter::testing
