// Refinements with early passes, as jobs: what they do with the frames that came first is the same
// wherever their service was when those came.
#include "tests/server/pipeline/refinement_fixture.h"

namespace isocenter::pipeline {
namespace {

class EarlyPassesJobTest : public RefinementTest {
 protected:
  RefinementRequest EarlyRecipe(bool warm_start) {
    RefinementRequest request{
        .protocol = "refined",
        .settings = recon::IterativeSettings{.algorithm = recon::Algorithm::kOsSart,
                                             .iterations = 2,
                                             .subsets = 4,
                                             .warm_start = warm_start,
                                             .early_passes = 3},
        .record = warm_start ? "early" : "early from zero"};
    recipes_[request.record] = request;
    return request;
  }
  static RefinementRequest Without(RefinementRequest request) {
    std::get<recon::IterativeSettings>(request.settings).early_passes = 0;
    return request;
  }
};

TEST_F(EarlyPassesJobTest, AreThoseOfOneCallFromFdkAndFromZero) {
  for (const bool warm_start : {true, false}) {
    AcquisitionRequest request = SmallRequest();
    request.refinement = EarlyRecipe(warm_start);
    const std::string id = Acquire(request);
    const jobs::Job job = AwaitEnd(id + "-ref");
    ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
    // Only those over all frames are reported.
    EXPECT_EQ(job.progress.iterations_done, 2);
    EXPECT_EQ(job.refinement.iterations.size(), 2u);
    EXPECT_EQ(job.progress.refined_fraction, 1);
    EXPECT_EQ(VolumeOf(id), Batch());
    EXPECT_EQ(VolumeOf(job.id), RefinedBatch(*request.refinement));
    // Early passes from zero are passes; sums differ by rounding at most.
    if (!warm_start) {
      EXPECT_NE(VolumeOf(job.id), RefinedBatch(Without(*request.refinement)));
    }
  }
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, AreTheSameAfterARestartInMidScan) {
  AcquisitionRequest request = SmallRequest();
  request.refinement = EarlyRecipe(/*warm_start=*/false);
  constexpr int kBefore = 25;  // more than the first early pass is over
  const std::string id = [&] {
    const Live live = Begin(request);
    EXPECT_TRUE(live.console->Send(0, kBefore).ok());
    AwaitSpooled(live.id, kBefore);
    return live.id;
  }();
  Restart();
  auto console = Resume(id);
  ASSERT_TRUE(console->Send(kBefore, kFrames).ok());
  ASSERT_TRUE(console->Finish().ok());
  console.reset();  // it holds the frames
  EXPECT_EQ(AwaitEnd(id).state, JobState::kCompleted);
  const jobs::Job job = AwaitEnd(id + "-ref");
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(*request.refinement));
  ExpectNothingHeld();
}

TEST_F(EarlyPassesJobTest, OnRequestAreThoseOfTheJobThatFollows) {
  const std::string id = Acquire();
  const RefinementRequest recipe = EarlyRecipe(/*warm_start=*/true);
  const auto accepted = Refine(id, recipe);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  const jobs::Job job = AwaitEnd((*accepted)->id);
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(VolumeOf(job.id), RefinedBatch(recipe));
}

}  // namespace
}  // namespace isocenter::pipeline
