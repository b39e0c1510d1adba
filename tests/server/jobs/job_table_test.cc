#include "server/jobs/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/server/fakes/fake_stores.h"

namespace isocenter::jobs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Job MakeJob(const std::string& id, int second) {
  Job job;
  job.id = id;
  job.create_time = absl::FromUnixSeconds(1000 + second);
  return job;
}

std::vector<std::string> Ids(const std::vector<JobSnapshot>& jobs) {
  std::vector<std::string> ids;
  for (const JobSnapshot& job : jobs) ids.push_back(job->id);
  return ids;
}

class JobTableTest : public ::testing::Test {
 protected:
  isocenter::testing::FakeJobStore store_;
  isocenter::testing::FakeObserver observer_;
  std::vector<std::string> removed_;
  JobTable table_{store_, &observer_, [this](const std::string& id) { removed_.push_back(id); }};
};

TEST_F(JobTableTest, ListsNewestFirstPageByPage) {
  // "b" and "c" are of the same moment: the id decides.
  for (const auto& [id, second] : {std::pair("a", 1), std::pair("c", 2), std::pair("b", 2)}) {
    ASSERT_TRUE(table_.Insert(MakeJob(id, second)).ok());
  }
  EXPECT_THAT(Ids(table_.List({}, std::nullopt, 10)), ElementsAre("c", "b", "a"));
  const auto first = table_.List({}, std::nullopt, 1);
  EXPECT_THAT(Ids(table_.List({}, JobCursor{first[0]->create_time, first[0]->id}, 10)),
              ElementsAre("b", "a"));
}

TEST_F(JobTableTest, ADamagedRecordIsSetAside) {
  ASSERT_TRUE(store_.Save(MakeJob("whole", 1)).ok());
  ASSERT_TRUE(store_.Save(MakeJob("torn", 2)).ok());
  store_.Damage("torn");
  ASSERT_TRUE(table_.Load(absl::UnixEpoch()).ok());
  EXPECT_THAT(Ids(table_.List({}, std::nullopt, 10)), ElementsAre("whole"));
  ASSERT_EQ(table_.damaged().size(), 1u);
  EXPECT_EQ(table_.damaged()[0].job_id, "torn");
  EXPECT_TRUE(absl::IsAlreadyExists(table_.Insert(MakeJob("torn", 3))));
  // Until somebody has looked at it.
  ASSERT_TRUE(table_.Delete("torn").ok());
  EXPECT_THAT(removed_, ElementsAre("torn"));
  EXPECT_TRUE(table_.damaged().empty());
  EXPECT_FALSE(store_.jobs().contains("torn"));
}

TEST_F(JobTableTest, FiltersByEachField) {
  Job job = MakeJob("x", 1);
  job.protocol = "fdk";
  job.station_name = "room1";
  job.patient_study.accession_number = "A1";
  ASSERT_TRUE(table_.Insert(job).ok());
  ASSERT_TRUE(table_.Insert(MakeJob("y", 2)).ok());
  EXPECT_THAT(Ids(table_.List({.protocol = "fdk"}, std::nullopt, 9)), ElementsAre("x"));
  EXPECT_THAT(Ids(table_.List({.station_name = "room1"}, std::nullopt, 9)), ElementsAre("x"));
  EXPECT_THAT(Ids(table_.List({.accession_number = "A1"}, std::nullopt, 9)), ElementsAre("x"));
  EXPECT_TRUE(table_.List({.states = {JobState::kFailed}}, std::nullopt, 9).empty());
  ASSERT_TRUE(table_.Transition("y", JobState::kFailed).ok());
  EXPECT_THAT(Ids(table_.List({.states = {JobState::kFailed}}, std::nullopt, 9)), ElementsAre("y"));
}

TEST_F(JobTableTest, SavesTheBeginningAndTheEnd) {
  ASSERT_TRUE(table_.Insert(MakeJob("a", 1)).ok());
  table_.Update("a", [](Job& job) { job.progress.frames_received = 7; });
  EXPECT_EQ(store_.jobs()["a"].progress.frames_received, 0);
  EXPECT_EQ((*table_.Get("a"))->progress.frames_received, 7);
  ASSERT_TRUE(table_.Transition("a", JobState::kReconstructing).ok());
  EXPECT_EQ(store_.jobs()["a"].state, JobState::kReceiving);
  ASSERT_TRUE(table_.Transition("a", JobState::kCancelled).ok());
  EXPECT_EQ(store_.jobs()["a"].state, JobState::kCancelled);
  EXPECT_EQ(store_.jobs()["a"].progress.frames_received, 7);
}

TEST_F(JobTableTest, RefusesIllegalTransitions) {
  ASSERT_TRUE(table_.Insert(MakeJob("a", 1)).ok());
  EXPECT_EQ(table_.Transition("a", JobState::kCompleted).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(table_.Transition("a", JobState::kCancelled).ok());
  EXPECT_THAT(std::string(table_.Transition("a", JobState::kFailed).message()),
              HasSubstr("is cancelled and cannot become failed"));
  EXPECT_EQ(observer_.count("ended"), 1);
}

TEST_F(JobTableTest, DoesNotKeepAJobThatCannotBeSaved) {
  store_.FailWith(absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(table_.Insert(MakeJob("a", 1)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(table_.Get("a").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobTableTest, AStoreThatFailsDoesNotStopAJob) {
  ASSERT_TRUE(table_.Insert(MakeJob("a", 1)).ok());
  store_.FailWith(absl::ResourceExhaustedError("disk full"));
  EXPECT_TRUE(table_.Transition("a", JobState::kReconstructing).ok());
  EXPECT_EQ(table_.Transition("a", JobState::kFailed).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*table_.Get("a"))->state, JobState::kFailed);
}

TEST_F(JobTableTest, JobsOfACrashAreFailedAndOthersAreKept) {
  Job active = MakeJob("active", 1);
  active.state = JobState::kReconstructing;
  active.request_id = "request";
  Job done = MakeJob("done", 2);
  done.state = JobState::kCompleted;
  ASSERT_TRUE(store_.Save(active).ok());
  ASSERT_TRUE(store_.Save(done).ok());
  ASSERT_TRUE(table_.Load(absl::FromUnixSeconds(5000)).ok());
  const JobSnapshot failed = *table_.Get("active");
  EXPECT_EQ(failed->state, JobState::kFailed);
  EXPECT_THAT(std::string(failed->error.message()),
              HasSubstr("stopped while this job was reconstructing"));
  EXPECT_EQ(failed->end_time, absl::FromUnixSeconds(5000));
  EXPECT_EQ(store_.jobs()["active"].state, JobState::kFailed);
  EXPECT_EQ((*table_.Get("done"))->state, JobState::kCompleted);
  EXPECT_EQ(table_.FindByRequestId("request"), failed);
}

TEST_F(JobTableTest, ResumableJobsStayAsTheyAre) {
  for (const auto& [id, state] :
       {std::pair("resumable", JobState::kExporting), std::pair("lost", JobState::kReceiving),
        std::pair("done", JobState::kCompleted)}) {
    Job job = MakeJob(id, 1);
    job.state = state;
    ASSERT_TRUE(store_.Save(job).ok());
  }
  std::vector<std::string> asked;
  ASSERT_TRUE(table_
                  .Load(absl::FromUnixSeconds(5000),
                        [&](const Job& job) {
                          asked.push_back(job.id);
                          return job.id == "resumable";
                        })
                  .ok());
  EXPECT_THAT(asked, ElementsAre("lost", "resumable"));  // the fake stores by id
  EXPECT_EQ((*table_.Get("resumable"))->state, JobState::kExporting);
  EXPECT_EQ((*table_.Get("resumable"))->end_time, absl::InfinitePast());
  EXPECT_EQ((*table_.Get("lost"))->state, JobState::kFailed);
  EXPECT_EQ((*table_.Get("done"))->state, JobState::kCompleted);
  // It goes on from there.
  EXPECT_TRUE(table_.Transition("resumable", JobState::kCompleted).ok());
}

TEST_F(JobTableTest, CountsByStateAndClass) {
  Job batch = MakeJob("batch", 1);
  batch.job_class = JobClass::kBatch;
  ASSERT_TRUE(table_.Insert(batch).ok());
  ASSERT_TRUE(table_.Insert(MakeJob("live", 2)).ok());
  ASSERT_TRUE(table_.Transition("live", JobState::kReconstructing).ok());
  EXPECT_THAT(table_.Count(),
              ElementsAre(std::pair(std::pair(JobState::kReceiving, JobClass::kBatch), 1),
                          std::pair(std::pair(JobState::kReconstructing, JobClass::kLive), 1)));
}

TEST_F(JobTableTest, DeletesEndedJobsOnly) {
  Job job = MakeJob("a", 1);
  job.request_id = "request";
  ASSERT_TRUE(table_.Insert(job).ok());
  EXPECT_EQ(table_.Delete("a").code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(table_.Transition("a", JobState::kCancelled).ok());
  ASSERT_TRUE(table_.Delete("a").ok());
  EXPECT_TRUE(store_.jobs().empty());
  EXPECT_EQ(table_.FindByRequestId("request"), nullptr);
  EXPECT_EQ(table_.Delete("a").code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(removed_, ElementsAre("a"));
}

TEST_F(JobTableTest, TellsWatchersUntilTheyLeave) {
  ASSERT_TRUE(table_.Insert(MakeJob("a", 1)).ok());
  int calls = 0;
  {
    auto subscription = table_.Subscribe("a", [&] { ++calls; });
    ASSERT_TRUE(subscription.ok());
    table_.Update("a", [](Job&) {});
    ASSERT_TRUE(table_.Transition("a", JobState::kCancelled).ok());
    EXPECT_EQ(calls, 2);
    table_.Update("a", [](Job&) {});  // it has ended
    EXPECT_EQ(calls, 2);
    ASSERT_TRUE(table_.Delete("a").ok());
    EXPECT_EQ(calls, 3);
  }
  EXPECT_EQ(table_.Subscribe("a", [] {}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobTableTest, ForgetsOldUnsuccessfulJobs) {
  const int extra = 3;
  ASSERT_TRUE(table_.Insert(MakeJob("completed", -1)).ok());
  for (const JobState state :
       {JobState::kReconstructing, JobState::kExporting, JobState::kCompleted}) {
    ASSERT_TRUE(table_.Transition("completed", state).ok());
  }
  for (int i = 0; i < JobTable::kUnsuccessfulJobsKept + extra; ++i) {
    const std::string id = absl::StrCat("job", i);
    ASSERT_TRUE(table_.Insert(MakeJob(id, i)).ok());
    ASSERT_TRUE(table_.Transition(id, JobState::kCancelled).ok());
  }
  const std::pair cancelled(JobState::kCancelled, JobClass::kLive);
  EXPECT_EQ(table_.Count()[cancelled], JobTable::kUnsuccessfulJobsKept);
  EXPECT_EQ(table_.Get("job2").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(table_.Get("job3").ok());
  EXPECT_THAT(removed_, ElementsAre("job0", "job1", "job2"));
  EXPECT_TRUE(table_.Get("completed").ok());
  EXPECT_EQ(static_cast<int>(store_.jobs().size()), JobTable::kUnsuccessfulJobsKept + 1);
}

TEST_F(JobTableTest, WhoWatchesAllIsToldOfEveryChange) {
  std::vector<std::string> told;
  auto subscription = table_.SubscribeAll([&](const std::string& id) { told.push_back(id); });
  ASSERT_TRUE(table_.Insert(MakeJob("a", 1)).ok());
  ASSERT_TRUE(table_.Insert(MakeJob("b", 2)).ok());
  table_.Update("a", [](Job& job) { job.progress.frames_received = 1; });
  ASSERT_TRUE(table_.Transition("b", JobState::kFailed).ok());
  table_.Update("b", [](Job&) {});  // has ended: no change
  EXPECT_THAT(told, ElementsAre("a", "b", "a", "b"));
  ASSERT_TRUE(table_.Delete("b").ok());
  EXPECT_EQ(told.back(), "b");
  const size_t before = told.size();
  subscription = {};
  ASSERT_TRUE(table_.Insert(MakeJob("c", 3)).ok());
  EXPECT_EQ(told.size(), before);
}

}  // namespace
}  // namespace isocenter::jobs
