// What each call leaves in the audit trail: docs/audit.md has the table.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "isocenter/v1/procedure_steps.grpc.pb.h"
#include "isocenter/v1/transfers.grpc.pb.h"
#include "isocenter/v1/worklist.grpc.pb.h"
#include "server/archive/archive.h"
#include "server/crypto/digests.h"
#include "server/roles/token_book.h"
#include "tests/contract/contract_fixture.h"
#include "tests/server/fakes/fake_worklist.h"
#include "tests/server/fakes/kept_events.h"

namespace isocenter::testing {
namespace {

using audit::Action;
using audit::Outcome;
using grpc::StatusCode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FakeSteps : public jobs::ProcedureStepControl {
 public:
  absl::StatusOr<std::vector<jobs::ProcedureStep>> List(
      const std::vector<jobs::ProcedureStepState>&, int) override {
    return std::vector<jobs::ProcedureStep>();
  }
  absl::StatusOr<jobs::ProcedureStep> Retry(const std::string&) override {
    return absl::NotFoundError("no such step");
  }
  absl::StatusOr<jobs::ProcedureStep> Drop(const std::string&) override {
    return jobs::ProcedureStep{};
  }
};

class AuditContractTest : public ContractTest {
 protected:
  void SetUp() override {
    const std::filesystem::path tokens = service_.directory.path() / "tokens";
    std::ofstream file(tokens);
    for (const roles::Role role : roles::kAllRoles) {
      file << Name(role) << " " << crypto::Sha256Hex(absl::StrCat(Name(role), "-token")) << " the "
           << Name(role) << "\n";
    }
    file.close();
    std::filesystem::permissions(tokens, std::filesystem::perms(0600));
    roster_ = std::make_unique<roles::Roster>(*roles::TokenBook::Open(tokens.string()),
                                              std::vector<roles::CertificateHolder>());
    archive_ = *archive::Archive::Open(service_.directory.path() / "archive");
    ASSERT_TRUE(
        archive_->transfers().Configure({{.destination = {"PACS", false}}}, absl::Now()).ok());
    partners_.transfers = &archive_->transfers();
    partners_.procedure_steps = &steps_;
    partners_.worklist = &worklist_;
    partners_.audit = &audit_;
    StartServer();
  }
  ~AuditContractTest() override { server_.reset(); }

  /// A call by the holder of that role's token.
  template <class Stub, class Request, class Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const std::string& token, const Request& request) {
    grpc::ClientContext context;
    SetDeadline(context);
    context.AddMetadata("authorization", absl::StrCat("Bearer ", token));
    Stub stub(channel_);
    Response response;
    return (stub.*method)(&context, request, &response);
  }
  /// The job of a patient, which is complete.
  std::string Scan() {
    authorization_ = "Bearer console-token";
    const Answer answer = Acquire(WholeScan());
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.accepted()->job_id();
  }
  static std::vector<v1::AcquireRequest> WholeScan() {
    std::vector<v1::AcquireRequest> messages = {HeaderMessage(SmallHeader())};
    for (int i = 0; i < 40; ++i) messages.push_back(FrameMessage(i));
    messages.emplace_back().mutable_finish();
    return messages;
  }
  /// The only one of its action.
  audit::Event Only(Action action, const std::string& actor, Outcome outcome = Outcome::kSuccess) {
    EXPECT_TRUE(Eventually([&] { return !audit_.Of(action).empty(); })) << Name(action);
    const std::vector<audit::Event> events = audit_.Of(action);
    EXPECT_THAT(events, SizeIs(1)) << Name(action);
    if (events.empty()) return {};
    EXPECT_EQ(events[0].outcome, outcome) << Name(action) << ": " << events[0].detail;
    EXPECT_EQ(events[0].actor.name, actor);
    EXPECT_TRUE(events[0].actor.is_known);
    EXPECT_EQ(events[0].service, "grpc");
    EXPECT_THAT(events[0].actor.address, HasSubstr("127.0.0.1:"));
    return events[0];
  }
  template <class Request>
  static Request About(const std::string& job_id) {
    Request request;
    request.set_job_id(job_id);
    return request;
  }

  KeptEvents audit_;
  FakeSteps steps_;
  FakeWorklist worklist_;
  std::unique_ptr<archive::Archive> archive_;
};

TEST_F(AuditContractTest, WhatIsDoneToAJobIsRecordedWithItsPatient) {
  const std::string id = Scan();
  const auto about_the_job = [&](const audit::Event& event) {
    EXPECT_THAT(event.job_ids, ElementsAre(id));
    EXPECT_THAT(event.patient_ids, ElementsAre("P1"));
  };
  about_the_job(Only(Action::kAcquire, "the console"));
  using Jobs = v1::JobService::Stub;
  EXPECT_TRUE(Call(&Jobs::GetJob, "viewer-token", About<v1::GetJobRequest>(id)).ok());
  about_the_job(Only(Action::kView, "the viewer"));
  EXPECT_FALSE(Call(&Jobs::CancelJob, "console-token", About<v1::CancelJobRequest>(id)).ok());
  about_the_job(Only(Action::kCancel, "the console", Outcome::kRefused));
  v1::RefineJobRequest refine = About<v1::RefineJobRequest>(id);
  refine.set_protocol("there is none");
  EXPECT_FALSE(Call(&Jobs::RefineJob, "console-token", refine).ok());
  about_the_job(Only(Action::kRefine, "the console", Outcome::kRefused));
  v1::SendJobRequest send = About<v1::SendJobRequest>(id);
  send.set_destination("NOBODY");
  using Transfers = v1::TransferService::Stub;
  EXPECT_FALSE(Call(&Transfers::SendJob, "operator-token", send).ok());
  const audit::Event sent = Only(Action::kSend, "the operator", Outcome::kRefused);
  about_the_job(sent);
  EXPECT_EQ(sent.destination, "NOBODY");
  EXPECT_TRUE(
      Call(&Transfers::RetryTransfers, "operator-token", About<v1::RetryTransfersRequest>(id))
          .ok());
  about_the_job(Only(Action::kRetry, "the operator"));
  using Steps = v1::ProcedureStepService::Stub;
  EXPECT_TRUE(
      Call(&Steps::DropProcedureStep, "operator-token", About<v1::DropProcedureStepRequest>(id))
          .ok());
  about_the_job(Only(Action::kProcedureStep, "the operator"));
  EXPECT_TRUE(Call(&Jobs::DeleteJob, "administrator-token", About<v1::DeleteJobRequest>(id)).ok());
  about_the_job(Only(Action::kDelete, "the administrator"));
  EXPECT_THAT(audit_.Of(Action::kCall), IsEmpty());
  EXPECT_THAT(audit_.Of(Action::kSignIn), IsEmpty());
}

TEST_F(AuditContractTest, StreamsOfAnswersAreRecorded) {
  const std::string id = Scan();
  v1::JobService::Stub stub(channel_);
  {
    grpc::ClientContext context;
    SetDeadline(context);
    context.AddMetadata("authorization", "Bearer viewer-token");
    const auto watch = stub.WatchJob(&context, About<v1::WatchJobRequest>(id));
    v1::Job job;
    while (watch->Read(&job)) {
    }
    EXPECT_TRUE(watch->Finish().ok());
  }
  EXPECT_THAT(Only(Action::kView, "the viewer").patient_ids, ElementsAre("P1"));
  grpc::ClientContext context;
  SetDeadline(context);
  context.AddMetadata("authorization", "Bearer console-token");
  const auto download = stub.DownloadResult(&context, About<v1::DownloadResultRequest>(id));
  v1::DownloadResultResponse piece;
  while (download->Read(&piece)) {
  }
  EXPECT_FALSE(download->Finish().ok());  // the format is not given
  EXPECT_THAT(Only(Action::kDownload, "the console", Outcome::kRefused).patient_ids,
              ElementsAre("P1"));
}

TEST_F(AuditContractTest, ListsAndTheWorklistAreQueries) {
  EXPECT_TRUE(Call(&v1::JobService::Stub::ListJobs, "viewer-token", v1::ListJobsRequest()).ok());
  EXPECT_THAT(Only(Action::kQuery, "the viewer").query, ElementsAre("jobs"));
  v1::ListScheduledStepsRequest steps;
  steps.set_patient_id("P7");
  steps.set_date("20260102");
  worklist_.SetSteps({YamadaStep()});
  EXPECT_TRUE(Call(&v1::WorklistService::Stub::ListScheduledSteps, "console-token", steps).ok());
  ASSERT_TRUE(Eventually([&] { return audit_.Of(Action::kQuery).size() == 2; }));
  const audit::Event event = audit_.Of(Action::kQuery)[1];
  EXPECT_THAT(event.query, ElementsAre("worklist", "patient_id=P7", "date=20260102"));
  EXPECT_EQ(event.matches, 1);
}

TEST_F(AuditContractTest, WhatIsDoneToTheNodeIsRecorded) {
  using Node = v1::NodeService::Stub;
  v1::DrainNodeRequest drain;
  drain.set_reason("new disks");
  EXPECT_TRUE(Call(&Node::DrainNode, "operator-token", drain).ok());
  EXPECT_THAT(Only(Action::kDrain, "the operator").detail, HasSubstr("new disks"));
  EXPECT_TRUE(Call(&Node::ResumeNode, "operator-token", v1::ResumeNodeRequest()).ok());
  Only(Action::kUndrain, "the operator");
  using Steps = v1::ProcedureStepService::Stub;
  EXPECT_TRUE(Call(&Steps::DropProcedureStep, "operator-token",
                   About<v1::DropProcedureStepRequest>("job-1"))
                  .ok());
  const audit::Event dropped = Only(Action::kProcedureStep, "the operator");
  EXPECT_EQ(dropped.detail, "drop");
  EXPECT_THAT(dropped.job_ids, ElementsAre("job-1"));
  EXPECT_FALSE(Call(&Steps::RetryProcedureStep, "operator-token",
                    About<v1::RetryProcedureStepRequest>("job-2"))
                   .ok());
  const auto both = audit_.Of(Action::kProcedureStep);
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[1].outcome, Outcome::kRefused);
  EXPECT_THAT(both[1].detail, HasSubstr("retry: NOT_FOUND"));
}

TEST_F(AuditContractTest, WhoIsTurnedAwayIsRecorded) {
  using Jobs = v1::JobService::Stub;
  EXPECT_EQ(Call(&Jobs::ListJobs, "guessed", v1::ListJobsRequest()).error_code(),
            StatusCode::UNAUTHENTICATED);
  const auto signed_in = audit_.Of(Action::kSignIn);
  ASSERT_THAT(signed_in, SizeIs(1));
  EXPECT_EQ(signed_in[0].outcome, Outcome::kRefused);
  EXPECT_FALSE(signed_in[0].actor.is_known);
  EXPECT_THAT(signed_in[0].detail, HasSubstr("is not known"));
  EXPECT_EQ(signed_in[0].detail.find("guessed"), std::string::npos);
  EXPECT_EQ(
      Call(&v1::NodeService::Stub::DrainNode, "viewer-token", v1::DrainNodeRequest()).error_code(),
      StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(Only(Action::kCall, "the viewer", Outcome::kRefused).detail,
              HasSubstr("DrainNode: PERMISSION_DENIED: the role is viewer; this needs operator"));
  EXPECT_THAT(audit_.Of(Action::kDrain), IsEmpty());
}

TEST_F(AuditContractTest, WhoIsTurnedAwayLeavesOneRecordThatNamesTheMethod) {
  using Jobs = v1::JobService::Stub;
  using Transfers = v1::TransferService::Stub;
  const std::string viewer = "viewer-token";
  const std::vector<std::pair<std::string, std::function<grpc::Status()>>> calls = {
      {"CancelJob", [&] { return Call(&Jobs::CancelJob, viewer, v1::CancelJobRequest()); }},
      {"RefineJob", [&] { return Call(&Jobs::RefineJob, viewer, v1::RefineJobRequest()); }},
      {"DeleteJob", [&] { return Call(&Jobs::DeleteJob, viewer, v1::DeleteJobRequest()); }},
      {"SendJob", [&] { return Call(&Transfers::SendJob, viewer, v1::SendJobRequest()); }},
      {"DownloadResult",
       [&] {
         grpc::ClientContext context;
         SetDeadline(context);
         context.AddMetadata("authorization", "Bearer viewer-token");
         return v1::JobService::Stub(channel_)
             .DownloadResult(&context, v1::DownloadResultRequest())
             ->Finish();
       }},
      {"Acquire", [&] {
         authorization_ = "Bearer viewer-token";
         return Acquire(WholeScan()).status;
       }}};
  size_t turned_away = 0;
  for (const auto& [method, call] : calls) {
    SCOPED_TRACE(method);
    EXPECT_EQ(call().error_code(), StatusCode::PERMISSION_DENIED);
    ASSERT_THAT(audit_.events(), SizeIs(++turned_away));
    const audit::Event event = audit_.events().back();
    EXPECT_EQ(event.action, Action::kCall);
    EXPECT_EQ(event.outcome, Outcome::kRefused);
    EXPECT_EQ(event.actor.name, "the viewer");
    EXPECT_THAT(event.detail, ::testing::StartsWith(method + ": PERMISSION_DENIED: the role is"));
  }
}

}  // namespace
}  // namespace isocenter::testing
