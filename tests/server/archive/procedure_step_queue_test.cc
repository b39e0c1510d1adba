// What operators see of performed procedure steps, and what they can do.
#include "server/archive/procedure_step_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::archive {
namespace {

using jobs::ProcedureStep;
using jobs::ProcedureStepState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class ProcedureStepQueueTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    queue_.reset();
    queue_ = *ProcedureStepQueue::Open(directory_.path() / "steps.sqlite");
  }
  void Begin(const std::string& job) { ASSERT_TRUE(queue_->Begin(job, "begin", now_).ok()); }
  void End(const std::string& job) { ASSERT_TRUE(queue_->End(job, "end").ok()); }
  ProcedureStepQueue::Message Due(const std::string& job) {
    const auto due = queue_->Next();
    for (const auto& message : *due) {
      if (message.job_id == job) return message;
    }
    ADD_FAILURE() << "nothing is due of " << job;
    return {};
  }
  ProcedureStepState StateOf(const std::string& job) { return queue_->Get(job)->state; }

  TemporaryDirectory directory_;
  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  std::unique_ptr<ProcedureStepQueue> queue_;
};

TEST_F(ProcedureStepQueueTest, AStepGoesThroughItsStates) {
  Begin("job");
  EXPECT_EQ(StateOf("job"), ProcedureStepState::kBeginning);
  ASSERT_TRUE(queue_->MarkRejected(Due("job"), "busy").ok());
  ProcedureStep step = *queue_->Get("job");
  EXPECT_EQ(step.rejections, 1);
  EXPECT_EQ(step.reason, "busy");
  EXPECT_EQ(step.begin_time, now_);
  ASSERT_TRUE(queue_->MarkSent(Due("job")).ok());
  EXPECT_EQ(StateOf("job"), ProcedureStepState::kInProgress);
  EXPECT_THAT(*queue_->Next(), IsEmpty());
  EXPECT_EQ(queue_->Retry("job").code(), absl::StatusCode::kFailedPrecondition);
  End("job");
  Open();
  step = *queue_->Get("job");
  EXPECT_EQ(step.state, ProcedureStepState::kEnding);
  EXPECT_EQ(step.rejections, 0);
  EXPECT_EQ(step.reason, "");
  ASSERT_TRUE(queue_->MarkSent(Due("job")).ok());
  EXPECT_EQ(StateOf("job"), ProcedureStepState::kDone);
  EXPECT_THAT(*queue_->List({}, 10), IsEmpty());
  EXPECT_THAT(*queue_->List({ProcedureStepState::kDone}, 10), SizeIs(1));
}

TEST_F(ProcedureStepQueueTest, WhatWasGivenUpIsRetriedWhereItStood) {
  for (const char* job : {"new", "created"}) Begin(job);
  ASSERT_TRUE(queue_->MarkSent(Due("created")).ok());
  ASSERT_TRUE(queue_->GiveUp(Due("new"), "missing attribute").ok());
  End("new");  // the job goes on and ends
  End("created");
  ASSERT_TRUE(queue_->GiveUp(Due("created"), "no such object").ok());
  EXPECT_THAT(*queue_->Next(), IsEmpty());
  EXPECT_EQ(queue_->Get("new")->reason, "missing attribute");
  EXPECT_THAT(*queue_->List({ProcedureStepState::kFailed}, 10), SizeIs(2));
  for (const char* job : {"new", "created"}) ASSERT_TRUE(queue_->Retry(job).ok());
  EXPECT_TRUE(Due("new").creates);
  EXPECT_EQ(Due("new").data, "begin");
  EXPECT_FALSE(Due("created").creates);
  EXPECT_EQ(Due("created").data, "end");
  ASSERT_TRUE(queue_->MarkSent(Due("new")).ok());
  EXPECT_EQ(Due("new").data, "end");
}

TEST_F(ProcedureStepQueueTest, WhatIsDroppedStaysSo) {
  Begin("job");
  const ProcedureStepQueue::Message under_way = Due("job");
  ASSERT_TRUE(queue_->Drop("job").ok());
  ASSERT_TRUE(queue_->MarkSent(under_way).ok());  // its answer comes after
  End("job");
  Begin("job");
  EXPECT_EQ(StateOf("job"), ProcedureStepState::kDropped);
  EXPECT_THAT(*queue_->Next(), IsEmpty());
  EXPECT_THAT(*queue_->InProgress(), IsEmpty());
  for (const absl::Status& refused : {queue_->Drop("job"), queue_->Retry("job")}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("is dropped; legal is"));
  }
  EXPECT_EQ(queue_->Drop("other").code(), absl::StatusCode::kNotFound);
}

TEST_F(ProcedureStepQueueTest, TheNewestAreListedAndAllAreCounted) {
  for (const char* job : {"a", "b", "c"}) Begin(job);
  ASSERT_TRUE(queue_->MarkSent(Due("a")).ok());
  ASSERT_TRUE(queue_->GiveUp(Due("b"), "refused").ok());
  const auto listed = *queue_->List({}, 2);
  ASSERT_THAT(listed, SizeIs(2));
  EXPECT_EQ(listed[0].job_id, "c");
  EXPECT_EQ(listed[1].job_id, "b");
  const auto length = *queue_->Count();
  EXPECT_THAT(length.counts, ElementsAre(Pair(ProcedureStepState::kBeginning, 1),
                                         Pair(ProcedureStepState::kInProgress, 1),
                                         Pair(ProcedureStepState::kFailed, 1)));
  EXPECT_EQ(length.oldest, now_);
}

TEST_F(ProcedureStepQueueTest, AFileOfTheFirstVersionIsTakenOver) {
  queue_.reset();
  const auto file = directory_.path() / "old.sqlite";
  {
    Database old = *Database::Open(file);
    ASSERT_TRUE(old.ExecuteScript(R"sql(
CREATE TABLE steps (number INTEGER PRIMARY KEY, job_id TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('new', 'created', 'done', 'failed')),
  begin_data TEXT NOT NULL, end_data TEXT NOT NULL DEFAULT '',
  rejections INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '');
CREATE INDEX steps_to_send ON steps (number) WHERE state IN ('new', 'created');
INSERT INTO steps (job_id, state, begin_data) VALUES ('created', 'created', 'begin');
INSERT INTO steps (job_id, state, begin_data) VALUES ('failed', 'failed', '');
PRAGMA user_version = 1;
)sql")
                    .ok());
  }
  queue_ = *ProcedureStepQueue::Open(file);
  EXPECT_EQ(StateOf("created"), ProcedureStepState::kInProgress);
  EXPECT_FALSE(queue_->Get("created")->begin_time.has_value());
  End("created");
  EXPECT_EQ(Due("created").data, "end");
  EXPECT_THAT(std::string(queue_->Retry("failed").message()), HasSubstr("by an earlier version"));
  EXPECT_TRUE(queue_->Drop("failed").ok());
}

}  // namespace
}  // namespace isocenter::archive
