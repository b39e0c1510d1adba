// Performed procedure steps: what is told, in which order, and that it is told in the end.
#include "server/dicom/worklist/procedure_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/time/clock.h"
#include "server/dicom/objects/request_attributes.h"
#include "server/dicom/objects/result_store.h"
#include "tests/server/dicom/fake_ris.h"
#include "tests/server/dicom/test_jobs.h"

namespace isocenter::dicom {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ProcedureStepsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto archive = archive::Archive::Open(directory_.path() / "archive");
    ASSERT_TRUE(archive.ok()) << archive.status();
    archive_ = *std::move(archive);
    table_ = std::make_unique<jobs::JobTable>(*archive_, nullptr);
    ASSERT_TRUE(table_->Load(absl::Now()).ok());
    StartSteps();
  }
  void StartSteps() {
    auto steps = ProcedureSteps::Start({.peer = ris_.peer(),
                                        .file = directory_.path() / "steps.sqlite",
                                        .first_pause = absl::Milliseconds(10),
                                        .longest_pause = absl::Milliseconds(50),
                                        .most_rejections = 3},
                                       *archive_, *table_);
    ASSERT_TRUE(steps.ok()) << steps.status();
    steps_ = *std::move(steps);
  }
  jobs::Job NewJob(const std::string& id) {
    jobs::Job job = TestJob(id);
    job.patient_study.study_instance_uid = "1.2.3";
    job.order = {.settled = true,
                 .requested_procedure_id = "RP1",
                 .scheduled_step_id = "SPS1",
                 .scheduled_step_description = "Rotational run"};
    job.progress.frames_received = job.progress.frames_total = 248;
    return job;
  }
  /// Stores the job's volume and completes it.
  jobs::Job Complete(jobs::Job job) {
    const auto store = *DicomResultStore::Create(*archive_);
    const std::vector<float> volume = TestVolume(job.grid);
    const auto stored = store->Store(job, View(volume, job.grid), nullptr, nullptr);
    EXPECT_TRUE(stored.ok()) << stored.status();
    jobs::RecordStored(*stored, job);
    job.state = jobs::JobState::kCompleted;
    job.end_time = job.create_time + absl::Seconds(30);
    return job;
  }
  std::vector<FakeRis::StepMessage> AwaitMessages(size_t count) {
    const absl::Time deadline = absl::Now() + absl::Seconds(120);
    while (ris_.messages().size() < count && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    return ris_.messages();
  }
  /// Whether nothing more comes: what was reported before a last step is told before it, and
  /// afterwards nothing waits.
  void ExpectQuiet(size_t count) {
    steps_->OnBegan(NewJob("last"));
    AwaitMessages(count + 1);
    const auto waiting = [this] {
      const auto length = steps_->Count();
      return !length.ok() || length->counts.contains(jobs::ProcedureStepState::kBeginning) ||
             length->counts.contains(jobs::ProcedureStepState::kEnding);
    };
    const absl::Time deadline = absl::Now() + absl::Seconds(120);
    while (waiting() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
    EXPECT_FALSE(waiting());
    const auto messages = ris_.messages();
    ASSERT_THAT(messages, SizeIs(count + 1));
    EXPECT_EQ(messages.back().uid, ProcedureStepUid("last"));
  }

  TemporaryDirectory directory_;
  FakeRis ris_;
  std::unique_ptr<archive::Archive> archive_;
  std::unique_ptr<jobs::JobTable> table_;
  std::unique_ptr<ProcedureSteps> steps_;
};

TEST_F(ProcedureStepsTest, AStepBeginsAndIsCompletedWithItsImages) {
  const jobs::Job job = NewJob("job-1");
  steps_->OnBegan(job);
  steps_->OnBegan(job);
  ASSERT_THAT(AwaitMessages(1), SizeIs(1));
  steps_->OnEnded(Complete(job));
  const auto messages = AwaitMessages(2);
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_TRUE(messages[0].creates);
  EXPECT_EQ(messages[0].uid, ProcedureStepUid("job-1"));
  EXPECT_EQ(messages[0].status, "IN PROGRESS");
  for (const char* part :
       {"山田^太郎", "PAT-job-1", "[SPS1]", "[RP1]", "[1.2.3]", "[A1234]", "[ISOCENTER]", "[XA]"}) {
    EXPECT_THAT(messages[0].text, HasSubstr(part));
  }
  EXPECT_FALSE(messages[1].creates);
  EXPECT_EQ(messages[1].uid, messages[0].uid);
  EXPECT_EQ(messages[1].status, "COMPLETED");
  for (const char* part : {"[fdk]", "(0040,0340)", "(0008,1140)", "=CTImageStorage"}) {
    EXPECT_THAT(messages[1].text, HasSubstr(part));
  }
  ExpectQuiet(2);
}

TEST_F(ProcedureStepsTest, WhatFailsIsDiscontinuedWithAReason) {
  jobs::Job job = NewJob("job-1");
  steps_->OnBegan(job);
  job.state = jobs::JobState::kFailed;
  job.end_time = job.create_time;
  steps_->OnEnded(job);
  auto messages = AwaitMessages(2);
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(messages[1].status, "DISCONTINUED");
  EXPECT_THAT(messages[1].text, HasSubstr("[110501]"));
  // One that ended before anybody said that it had begun.
  jobs::Job other = NewJob("job-2");
  other.state = jobs::JobState::kCancelled;
  other.end_time = other.create_time;
  steps_->OnEnded(other);
  steps_->OnBegan(other);
  messages = AwaitMessages(4);
  ASSERT_THAT(messages, SizeIs(4));
  EXPECT_TRUE(messages[2].creates);
  EXPECT_THAT(messages[3].text, HasSubstr("[110513]"));
  ExpectQuiet(4);
}

TEST_F(ProcedureStepsTest, TheStepOfAJobThatWasHandedBackIsTheOtherNodes) {
  jobs::Job job = NewJob("job-1");
  steps_->OnBegan(job);
  ASSERT_THAT(AwaitMessages(1), SizeIs(1));
  job.state = jobs::JobState::kCancelled;
  job.error = absl::AbortedError("handed back: node b has it again");
  steps_->OnEnded(job);
  ExpectQuiet(1);
}

TEST_F(ProcedureStepsTest, AnOperatorsReasonAndTheDoseAreReported) {
  jobs::Job job = NewJob("job-1");
  job.state = jobs::JobState::kCancelled;
  job.order.cancel_reason = jobs::CancelReason::kPatientRefused;
  job.progress.frames_received = 100;
  job.end_time = job.create_time;
  steps_->OnEnded(job);
  const auto messages = AwaitMessages(2);
  ASSERT_THAT(messages, SizeIs(2));
  // Code, exposures, dose area product, distance, voltage, current in microamperes.
  for (const char* part :
       {"[110505]", "[Patient refused to continue procedure]", "(0040,0301) US 100",
        "(0018,115e) DS [312.25]", "(0018,1110) DS [1200]", "(0018,0060) DS [90]", "[210500]"}) {
    EXPECT_THAT(messages[1].text, HasSubstr(part));
  }
  jobs::Job other = Complete(NewJob("job-2"));
  steps_->OnEnded(other);
  const auto completed = AwaitMessages(4);
  ASSERT_THAT(completed, SizeIs(4));
  for (const char* part : {"(0040,0301) US 248", "Weiß^Jürgen", "Lopez^Ana"}) {
    EXPECT_THAT(completed[3].text, HasSubstr(part));
  }
}

TEST_F(ProcedureStepsTest, OperatorsSeeWhyAStepWaitsAndRetryOrDropIt) {
  std::atomic<bool> understands = false;
  ris_.answer = [&](const FakeRis::StepMessage&) { return understands ? 0 : 0x0120; };
  steps_->OnBegan(NewJob("refused"));
  AwaitMessages(1);
  const auto await = [&](const std::string& job, jobs::ProcedureStepState state) {
    const absl::Time deadline = absl::Now() + absl::Seconds(120);
    while (absl::Now() < deadline) {
      const auto listed = steps_->List({state}, 10);
      for (const jobs::ProcedureStep& step : *listed) {
        if (step.job_id == job) return step;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    ADD_FAILURE() << job << " never became " << Name(state);
    return jobs::ProcedureStep{};
  };
  const jobs::ProcedureStep failed = await("refused", jobs::ProcedureStepState::kFailed);
  EXPECT_THAT(failed.reason, HasSubstr("RIS rejects N-CREATE: status 0120"));
  EXPECT_EQ(failed.sop_instance_uid, ProcedureStepUid("refused"));
  understands = true;
  ASSERT_TRUE(steps_->Retry("refused").ok());
  await("refused", jobs::ProcedureStepState::kInProgress);
  EXPECT_THAT(ris_.messages(), SizeIs(2));
  // One whose peer is down says so; dropped, it is never sent.
  ris_.Stop();
  steps_->OnBegan(NewJob("dropped"));
  const absl::Time deadline = absl::Now() + absl::Seconds(120);
  while (steps_->List({}, 1)->front().reason.empty() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_THAT(steps_->List({}, 1)->front().reason, HasSubstr("cannot associate with RIS"));
  EXPECT_EQ(steps_->Drop("dropped")->state, jobs::ProcedureStepState::kDropped);
  ris_.Start();
  ExpectQuiet(2);
}

TEST_F(ProcedureStepsTest, OnlyAcquisitionsWithFramesAreSteps) {
  jobs::Job refinement = NewJob("refinement");
  refinement.refinement.algorithm = "os_sart";
  steps_->OnBegan(refinement);
  steps_->OnEnded(refinement);
  jobs::Job never = NewJob("never-exposed");
  never.progress.frames_received = 0;
  never.state = jobs::JobState::kCancelled;
  steps_->OnEnded(never);
  ExpectQuiet(0);
}

TEST_F(ProcedureStepsTest, APeerThatIsDownGetsAllInOrderWhenItIsBack) {
  ris_.Stop();
  for (const char* id : {"job-1", "job-2"}) steps_->OnBegan(NewJob(id));
  steps_->OnEnded(Complete(NewJob("job-1")));
  absl::SleepFor(absl::Milliseconds(100));
  // And the service stops and starts meanwhile; job-2 ends with it.
  jobs::Job lost = NewJob("job-2");
  ASSERT_TRUE(table_->Insert(lost).ok());
  steps_ = nullptr;
  ASSERT_TRUE(table_->Transition("job-2", jobs::JobState::kFailed).ok());
  StartSteps();
  ris_.Start();
  const auto messages = AwaitMessages(4);
  ASSERT_THAT(messages, SizeIs(4));
  std::vector<std::string> of_first, of_second;
  for (const auto& message : messages) {
    (message.uid == ProcedureStepUid("job-1") ? of_first : of_second).push_back(message.status);
  }
  EXPECT_THAT(of_first, ::testing::ElementsAre("IN PROGRESS", "COMPLETED"));
  EXPECT_THAT(of_second, ::testing::ElementsAre("IN PROGRESS", "DISCONTINUED"));
  ExpectQuiet(4);
}

TEST_F(ProcedureStepsTest, AnAnswerThatWasLostIsNoFailure) {
  int count = 0;
  ris_.answer = [&](const FakeRis::StepMessage& message) {
    // The first N-CREATE and the first N-SET are taken, and the connection breaks.
    switch (count++) {
      case 0:
      case 2:
        return -1;
      case 1:
        return message.creates ? 0x0111 : 0xffff;
      default:
        return 0;
    }
  };
  const jobs::Job job = NewJob("job-1");
  steps_->OnBegan(job);
  steps_->OnEnded(Complete(job));
  const auto messages = AwaitMessages(4);
  ASSERT_THAT(messages, SizeIs(4));
  EXPECT_TRUE(messages[1].creates);
  EXPECT_FALSE(messages[3].creates);
  ExpectQuiet(4);
}

TEST_F(ProcedureStepsTest, WhatIsRejectedIsTriedAgainAndThenGivenUpWithoutHoldingUpOthers) {
  ris_.answer = [](const FakeRis::StepMessage& message) {
    if (message.uid == ProcedureStepUid("poor")) return 0x0110;     // processing failure
    if (message.uid == ProcedureStepUid("refused")) return 0x0120;  // missing attribute
    return 0;
  };
  for (const char* id : {"poor", "refused", "good"}) {
    steps_->OnBegan(NewJob(id));
    steps_->OnEnded(Complete(NewJob(id)));
  }
  AwaitMessages(6);
  ExpectQuiet(6);  // three times poor, once refused, twice good
  int good = 0;
  for (const auto& message : ris_.messages()) good += message.uid == ProcedureStepUid("good");
  EXPECT_EQ(good, 2);
}

}  // namespace
}  // namespace isocenter::dicom
