// Questions of consoles to the information system's worklist.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "isocenter/v1/worklist.grpc.pb.h"
#include "tests/contract/contract_fixture.h"
#include "tests/server/fakes/fake_worklist.h"

namespace isocenter::testing {
namespace {

using Request = v1::ListScheduledStepsRequest;

class WorklistContractTest : public ContractTest {
 protected:
  void SetUp() override {
    partners_.worklist = &worklist_;
    StartServer();
    stub_ = v1::WorklistService::NewStub(channel_);
  }
  void TearDown() override { server_.reset(); }
  grpc::Status Ask(const Request& request, v1::ListScheduledStepsResponse& response,
                   absl::Duration patience = absl::Seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
    return stub_->ListScheduledSteps(&context, request, &response);
  }
  grpc::Status Refusal(const std::function<void(Request&)>& spoil) {
    Request request;
    spoil(request);
    v1::ListScheduledStepsResponse response;
    return Ask(request, response);
  }

  FakeWorklist worklist_;
  std::unique_ptr<v1::WorklistService::Stub> stub_;
};

TEST_F(WorklistContractTest, TheKeysArePassedOnAndStepsComeByDateAndTime) {
  jobs::ScheduledStep late = YamadaStep(), early = YamadaStep();
  late.start_time = "235900";
  early.start_date = "20251231";
  worklist_.SetSteps({late, YamadaStep(), early});
  Request request;
  request.set_accession_number("A1");
  request.set_patient_id("P1");
  request.set_station_ae_title("ISOCENTER");
  request.set_date("20251201-");
  v1::ListScheduledStepsResponse response;
  ASSERT_TRUE(Ask(request, response).ok());
  ASSERT_EQ(response.step_size(), 3);
  EXPECT_EQ(response.step(0).start_date(), "20251231");
  EXPECT_EQ(response.step(2).start_time(), "235900");
  EXPECT_FALSE(response.truncated());
  const v1::ScheduledStep& step = response.step(1);
  EXPECT_EQ(step.patient_study().patient_name(), "Yamada^Tarou=山田^太郎=やまだ^たろう");
  EXPECT_EQ(step.patient_study().study_instance_uid(), "1.2.840.1");
  EXPECT_EQ(step.patient_study().study_description(), "Cerebral angiography");
  EXPECT_EQ(step.requested_procedure_id(), "RP1");
  EXPECT_EQ(step.scheduled_step_id(), "SPS1");
  const jobs::WorklistQuery query = worklist_.queries().at(0);
  EXPECT_EQ(query.accession_number, "A1");
  EXPECT_EQ(query.patient_id, "P1");
  EXPECT_EQ(query.station_ae_title, "ISOCENTER");
  EXPECT_EQ(query.date, "20251201-");
  EXPECT_EQ(query.limit, 100);
}

TEST_F(WorklistContractTest, WhatIsCutShortSaysSo) {
  worklist_.SetAnswer(jobs::WorklistAnswer{.steps = {YamadaStep()}, .truncated = true});
  Request request;
  request.set_max_results(1);
  v1::ListScheduledStepsResponse response;
  ASSERT_TRUE(Ask(request, response).ok());
  EXPECT_TRUE(response.truncated());
  EXPECT_EQ(worklist_.queries().at(0).limit, 1);
}

TEST_F(WorklistContractTest, BadKeysAreRefusedWithoutTheirValues) {
  EXPECT_THAT(Refusal([](Request& r) { r.set_accession_number(std::string(17, 'A')); }),
              Invalid({"accession_number", "16"}));
  const grpc::Status patient = Refusal([](Request& r) { r.set_patient_id("Secret\\1"); });
  EXPECT_THAT(patient, Invalid({"patient_id"}));
  EXPECT_THAT(Refusal([](Request& r) { r.set_station_ae_title(std::string(17, 'S')); }),
              Invalid({"station_ae_title"}));
  for (const char* date : {"2026-01-02", "20260230", "-", "20260101-20260102-20260103"}) {
    EXPECT_THAT(Refusal([&](Request& r) { r.set_date(date); }), Invalid({"date"})) << date;
  }
  for (const int most : {-1, 1001}) {
    EXPECT_THAT(Refusal([&](Request& r) { r.set_max_results(most); }),
                Invalid({"max_results", "0 to 1000"}));
  }
  EXPECT_TRUE(worklist_.queries().empty());
}

TEST_F(WorklistContractTest, AWorklistThatIsDownOrSlowIsNotThisServersFailure) {
  v1::ListScheduledStepsResponse response;
  worklist_.SetAnswer(absl::UnavailableError("cannot associate with RIS"));
  EXPECT_THAT(Ask({}, response),
              Refused(grpc::StatusCode::FAILED_PRECONDITION,
                      std::vector<const char*>{"the worklist does not answer", "RIS"}));
  worklist_.SetAnswer(absl::DeadlineExceededError("RIS is slow"));
  EXPECT_EQ(Ask({}, response).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(WorklistContractTest, QuestionsAreLimited) {
  worklist_.SetGate(false);
  std::vector<std::thread> waiting;
  std::atomic<int> refused = 0, answered = 0;
  for (int i = 0; i < 9; ++i) {
    waiting.emplace_back([&] {
      v1::ListScheduledStepsResponse response;
      const grpc::Status status = Ask({}, response);
      if (status.ok()) ++answered;
      if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) ++refused;
    });
  }
  EXPECT_TRUE(Eventually([&] { return refused == 1; }));
  worklist_.SetGate(true);
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(refused.load(), 1);
  EXPECT_EQ(answered.load(), 8);
}

TEST_F(WorklistContractTest, WithoutAWorklistItIsSaidWhatIsMissing) {
  server_.reset();
  partners_.worklist = nullptr;
  StartServer();
  stub_ = v1::WorklistService::NewStub(channel_);
  v1::ListScheduledStepsResponse response;
  EXPECT_THAT(Ask({}, response), Refused(grpc::StatusCode::FAILED_PRECONDITION,
                                         std::vector<const char*>{"dicom_node.worklist"}));
}

}  // namespace
}  // namespace isocenter::testing
