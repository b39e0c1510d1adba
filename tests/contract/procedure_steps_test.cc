// Performed procedure steps, as operators see and change them.
#include "server/jobs/procedure_steps.h"

#include <memory>
#include <string>
#include <vector>

#include "isocenter/v1/procedure_steps.grpc.pb.h"
#include "tests/contract/captured_log.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

using jobs::ProcedureStep;
using jobs::ProcedureStepState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// One step, which is known and has failed.
class FakeSteps : public jobs::ProcedureStepControl {
 public:
  absl::StatusOr<std::vector<ProcedureStep>> List(const std::vector<ProcedureStepState>& states,
                                                  int most) override {
    asked_states = states;
    return std::vector<ProcedureStep>(std::min(most, count), step_);
  }
  absl::StatusOr<ProcedureStep> Retry(const std::string& job_id) override {
    return Change(job_id, ProcedureStepState::kEnding);
  }
  absl::StatusOr<ProcedureStep> Drop(const std::string& job_id) override {
    return Change(job_id, ProcedureStepState::kDropped);
  }

  int count = 1;
  std::vector<ProcedureStepState> asked_states;

 private:
  absl::StatusOr<ProcedureStep> Change(const std::string& job_id, ProcedureStepState state) {
    if (job_id != step_.job_id) return absl::NotFoundError("no such step");
    if (step_.state != ProcedureStepState::kFailed) return absl::FailedPreconditionError("done");
    step_.state = state;
    return step_;
  }
  ProcedureStep step_{.job_id = "job-1",
                      .sop_instance_uid = "2.25.1",
                      .state = ProcedureStepState::kFailed,
                      .rejections = 3,
                      .reason = "RIS rejects N-SET: status 0112",
                      .begin_time = absl::FromUnixSeconds(1'800'000'000)};
};

class ProcedureStepContractTest : public ContractTest {
 protected:
  void SetUp() override { Start(&steps_); }
  void TearDown() override { server_.reset(); }
  void Start(jobs::ProcedureStepControl* steps) {
    server_.reset();
    partners_.procedure_steps = steps;
    StartServer();
    stub_ = v1::ProcedureStepService::NewStub(channel_);
  }
  grpc::Status List(const v1::ListProcedureStepsRequest& request,
                    v1::ListProcedureStepsResponse& response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return stub_->ListProcedureSteps(&context, request, &response);
  }
  grpc::Status Retry(const std::string& job_id, v1::ProcedureStep& step) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::RetryProcedureStepRequest request;
    request.set_job_id(job_id);
    return stub_->RetryProcedureStep(&context, request, &step);
  }
  grpc::Status Drop(const std::string& job_id, v1::ProcedureStep& step) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::DropProcedureStepRequest request;
    request.set_job_id(job_id);
    return stub_->DropProcedureStep(&context, request, &step);
  }

  FakeSteps steps_;
  std::unique_ptr<v1::ProcedureStepService::Stub> stub_;
};

TEST_F(ProcedureStepContractTest, StepsAreListedWithWhatIsKnown) {
  v1::ListProcedureStepsRequest request;
  request.add_state(v1::PROCEDURE_STEP_STATE_FAILED);
  request.add_state(v1::PROCEDURE_STEP_STATE_BEGINNING);
  v1::ListProcedureStepsResponse response;
  ASSERT_TRUE(List(request, response).ok());
  EXPECT_THAT(steps_.asked_states,
              ElementsAre(ProcedureStepState::kFailed, ProcedureStepState::kBeginning));
  ASSERT_THAT(response.step(), SizeIs(1));
  EXPECT_FALSE(response.truncated());
  const v1::ProcedureStep& step = response.step(0);
  EXPECT_EQ(step.job_id(), "job-1");
  EXPECT_EQ(step.state(), v1::PROCEDURE_STEP_STATE_FAILED);
  EXPECT_EQ(step.rejections(), 3u);
  EXPECT_EQ(step.reason(), "RIS rejects N-SET: status 0112");
  EXPECT_EQ(step.sop_instance_uid(), "2.25.1");
  EXPECT_EQ(step.begin_time().seconds(), 1'800'000'000);
}

TEST_F(ProcedureStepContractTest, ListsAreCutAndBadOnesRefused) {
  steps_.count = 5;
  v1::ListProcedureStepsRequest request;
  request.set_max_results(4);
  v1::ListProcedureStepsResponse response;
  ASSERT_TRUE(List(request, response).ok());
  EXPECT_THAT(response.step(), SizeIs(4));
  EXPECT_TRUE(response.truncated());
  for (const int most : {-1, 1001}) {
    request.set_max_results(most);
    EXPECT_THAT(List(request, response), Invalid({"max_results", "0 to 1000"}));
  }
  request.set_max_results(1);
  for (const int state : {0, 99}) {
    request.clear_state();
    request.add_state(static_cast<v1::ProcedureStepState>(state));
    EXPECT_THAT(List(request, response), Invalid({"state is"}));
  }
}

TEST_F(ProcedureStepContractTest, AStepIsRetriedOrDroppedOnce) {
  const CapturedLog log;
  v1::ProcedureStep step;
  EXPECT_EQ(Retry("job-2", step).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Drop("", step).error_code(), grpc::StatusCode::NOT_FOUND);
  ASSERT_TRUE(Retry("job-1", step).ok());
  EXPECT_EQ(step.state(), v1::PROCEDURE_STEP_STATE_ENDING);
  EXPECT_EQ(Drop("job-1", step).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(log.text(), HasSubstr("event=procedure_step_retried job=job-1 by=\"127.0.0.1:"));
}

TEST_F(ProcedureStepContractTest, WhereNobodyIsToldItIsSaidWhatIsMissing) {
  Start(nullptr);
  v1::ListProcedureStepsResponse response;
  v1::ProcedureStep step;
  for (const grpc::Status& status :
       {List({}, response), Retry("job-1", step), Drop("job-1", step)}) {
    EXPECT_THAT(status, Refused(grpc::StatusCode::FAILED_PRECONDITION,
                                std::vector<const char*>{"dicom_node.mpps"}));
  }
}

}  // namespace
}  // namespace isocenter::testing
