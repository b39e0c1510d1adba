// What a refinement survives.
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

using RefinementRestartTest = RefinementTest;

TEST_F(RefinementRestartTest, BeginsAgainWithTheSameDeadline) {
  const std::string id = Acquire();
  RefinementRequest request = Recipe(15);
  request.deadline = absl::Hours(1);
  const std::string refining = (*Refine(id, request))->id;
  AwaitRefining(refining);
  const absl::Time deadline = Job(refining).deadline;
  Restart();
  EXPECT_EQ(Job(refining).deadline, deadline);
  const jobs::Job job = AwaitEnd(refining);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.refinement.iterations.size(), 15u);
  EXPECT_EQ(VolumeOf(refining), RefinedBatch(request));
  EXPECT_EQ(service_->results.stores(refining), 1);
  ExpectNothingHeld();
}

TEST_F(RefinementRestartTest, TheFramesStayUntilItsEnd) {
  Start({.retention = absl::ZeroDuration()});
  const std::string id = Acquire(FollowedRequest(15));
  AwaitRefining(id + "-ref");
  Restart();
  const jobs::Job job = AwaitEnd(id + "-ref");
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_TRUE(Eventually([&] { return service_->spool->Jobs().empty(); }));
}

TEST_F(RefinementRestartTest, AfterItsDeadlineItFails) {
  const std::string id = Acquire();
  const std::string refining = (*Refine(id, Recipe(1000)))->id;
  AwaitRefining(refining);
  service_->Stop();
  jobs::Job record = service_->store.jobs()[refining];
  record.deadline = absl::Now() - absl::Seconds(1);  // it passed meanwhile
  ASSERT_TRUE(service_->store.Save(record).ok());
  service_->Start();
  service_->engine->Recover();
  const jobs::Job job = AwaitEnd(refining);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kDeadlineExceeded) << job.error;
  ExpectNothingHeld();
}

TEST_F(RefinementRestartTest, AVolumeThatWasStoredIsNotComputedAgain) {
  const std::string id = Acquire();
  const std::string refined = (*Refine(id, Recipe(2)))->id;
  AwaitEnd(refined);
  service_->Stop();
  // As if the process had ended between the volume and the record.
  jobs::Job job = service_->store.jobs()[refined];
  job.state = JobState::kReconstructing;
  ASSERT_TRUE(service_->store.Save(job).ok());
  service_->Start();
  service_->engine->Recover();
  EXPECT_EQ(AwaitEnd(refined).state, JobState::kCompleted);
  EXPECT_EQ(service_->results.stores(refined), 1);
}

TEST_F(RefinementRestartTest, ThereIsExactlyOneWhereverTheProcessEnds) {
  const std::string id = Acquire(FollowedRequest(2));
  const std::string refined = id + "-ref";
  AwaitEnd(refined);
  const std::vector<float> volume = VolumeOf(refined);
  const jobs::Job completed = service_->store.jobs()[id];
  for (const bool recorded : {false, true}) {
    service_->Stop();
    // The source's volume is stored, its record is not; the refinement's record is, or not.
    jobs::Job source = completed;
    source.state = JobState::kReceiving;
    ASSERT_TRUE(service_->store.Save(source).ok());
    service_->results.Forget(refined);
    if (recorded) {
      jobs::Job record = service_->store.jobs()[refined];
      record.state = JobState::kReconstructing;
      ASSERT_TRUE(service_->store.Save(record).ok());
    } else {
      ASSERT_TRUE(service_->store.Delete(refined).ok());
    }
    service_->Start();
    service_->engine->Recover();
    EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted);
    EXPECT_EQ(AwaitEnd(refined).state, JobState::kCompleted) << Job(refined).error;
    EXPECT_EQ(VolumeOf(refined), volume);
    EXPECT_EQ(service_->results.stores(refined), 1);
  }
  // Deleted is deleted.
  ASSERT_TRUE(service_->table->Delete(refined).ok());
  Restart();
  EXPECT_FALSE(service_->table->Get(refined).ok());
}

TEST_F(RefinementRestartTest, WithoutItsFramesItFails) {
  const std::string id = Acquire();
  const std::string refining = (*Refine(id, Recipe(1000)))->id;
  AwaitRefining(refining);
  service_->Stop();
  std::filesystem::remove(service_->directory.path() / "spool" / (id + ".spool"));
  service_->Start();
  service_->engine->Recover();
  const jobs::Job job = AwaitEnd(refining);
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_EQ(job.error.code(), absl::StatusCode::kFailedPrecondition) << job.error;
}

}  // namespace
}  // namespace isocenter::pipeline
