// What the tests of refinements share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/recon/iterative/refinement.h"
#include "tests/server/pipeline/engine_fixture.h"

namespace isocenter::pipeline {

class RefinementTest : public EngineTest {
 protected:
  void SetUp() override { Start({.retention = absl::Hours(1)}); }

  RefinementRequest Recipe(int iterations) {
    RefinementRequest request{.protocol = "refined", .record = absl::StrCat(iterations)};
    request.settings.algorithm = recon::Algorithm::kOsSart;
    request.settings.iterations = iterations;
    request.settings.subsets = 4;
    recipes_[request.record] = request;
    return request;
  }
  /// Of an acquisition that is refined once it is completed.
  AcquisitionRequest FollowedRequest(int iterations) {
    AcquisitionRequest request = SmallRequest();
    request.refinement = Recipe(iterations);
    return request;
  }

  /// Sends all of an acquisition and waits until its volume is stored.
  std::string Acquire(const AcquisitionRequest& request = SmallRequest()) {
    const Live live = Begin(request);
    EXPECT_TRUE(live.console->Send(0, kFrames).ok());
    EXPECT_TRUE(live.console->Finish().ok());
    const jobs::Job job = AwaitEnd(live.id);
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    return live.id;
  }

  absl::StatusOr<jobs::JobSnapshot> Refine(const std::string& id,
                                           const RefinementRequest& request) {
    absl::StatusOr<jobs::JobSnapshot> result;
    absl::Notification done;
    service_->engine->Refine(id, request, [&](absl::StatusOr<jobs::JobSnapshot> job) {
      result = std::move(job);
      done.Notify();
    });
    done.WaitForNotification();
    return result;
  }
  void AwaitRefining(const std::string& id) {
    EXPECT_TRUE(Eventually([&] {
      return Job(id).state == JobState::kRefining && Job(id).progress.refined_fraction > 0;
    })) << jobs::Name(Job(id).state);
  }

  /// The refined volume as one call computes it.
  static std::vector<float> RefinedBatch(const RefinementRequest& recipe) {
    const AcquisitionRequest request = SmallRequest();
    const auto device =
        *Backends().OpenDevice("reference", {.memory_bytes = 64 << 20, .threads = 1});
    ops::Device* const devices[] = {device.get()};
    const VolumeGrid grid = std::get<VolumeGrid>(request.grid);
    const auto plan = *recon::MakeRefinementPlan(request.acquisition, grid, recipe.fdk,
                                                 recipe.settings, Backends(), devices);
    std::string frames;
    for (int view = 0; view < kFrames; ++view) frames += SmallFrame(request.acquisition, view);
    const Detector& detector = request.acquisition.detector;
    const ops::RawFrames raw{.line_integrals = {reinterpret_cast<const float*>(frames.data()),
                                                {kFrames, detector.rows, detector.columns}}};
    std::vector<float> volume(grid.voxels());
    const auto reports =
        recon::RefineAll(plan, Backends(), devices, raw, {volume.data(), grid.shape()});
    EXPECT_TRUE(reports.ok()) << reports.status();
    return volume;
  }
};

}  // namespace isocenter::pipeline
