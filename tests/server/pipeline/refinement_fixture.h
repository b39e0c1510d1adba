// What the tests of refinements share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/recon/any_refinement.h"
#include "kernels/recon/second_pass/reconstruct_twice.h"
#include "tests/server/pipeline/engine_fixture.h"

namespace isocenter::pipeline {

class RefinementTest : public EngineTest {
 protected:
  void SetUp() override { Start({.retention = absl::Hours(1)}); }

  RefinementRequest Recipe(int iterations) {
    RefinementRequest request{
        .protocol = "refined",
        .settings =
            recon::IterativeSettings{
                .algorithm = recon::Algorithm::kOsSart, .iterations = iterations, .subsets = 4},
        .record = absl::StrCat(iterations)};
    recipes_[request.record] = request;
    return request;
  }
  /// A second pass, to HU in which the middle of SmallFrame's volume is metal.
  RefinementRequest SecondPassRecipe(const recon::SecondPassSettings& settings) {
    RefinementRequest request{
        .protocol = "refined",
        .fdk = {.mu_water_per_mm = 0.009},
        .settings = settings,
        .record = absl::StrCat("second", settings.metal ? " metal" : "",
                               settings.bone ? " bone" : "", settings.motion ? " motion" : "",
                               settings.self_calibrate ? " self_calibrate" : "")};
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
  static std::vector<float> RefinedBatch(const RefinementRequest& recipe,
                                         const AcquisitionRequest& request = SmallRequest()) {
    const auto device =
        *Backends().OpenDevice("reference", {.memory_bytes = 64 << 20, .threads = 1});
    ops::Device* const devices[] = {device.get()};
    const VolumeGrid grid = std::get<VolumeGrid>(request.grid);
    const auto plan = *recon::PlanRefinement(request.acquisition, grid, recipe.fdk, recipe.settings,
                                             Backends(), devices, recon::Arrival::kComplete);
    std::string frames;
    for (int view = 0; view < kFrames; ++view) frames += SmallFrame(request.acquisition, view);
    const Detector& detector = request.acquisition.detector;
    const Shape3 shape{kFrames, detector.rows, detector.columns};
    ops::RawFrames raw;
    if (request.acquisition.pixel_type == recon::PixelType::kUint16Counts) {
      raw.counts = {reinterpret_cast<const uint16_t*>(frames.data()), shape};
    } else {
      raw.line_integrals = {reinterpret_cast<const float*>(frames.data()), shape};
    }
    std::vector<float> volume(grid.voxels());
    const HostView3<float> voxels(volume.data(), grid.shape());
    const auto* const iterations = std::get_if<recon::RefinementPlan>(&plan);
    const absl::Status done =
        iterations != nullptr
            ? recon::RefineAll(*iterations, Backends(), devices, raw, voxels).status()
            : recon::ReconstructTwice(
                  recon::BasisOf(plan),
                  [&] { return recon::NewRefinement(plan, Backends(), devices); }, Backends(),
                  devices, raw, voxels);
    EXPECT_TRUE(done.ok()) << done;
    return volume;
  }
};

}  // namespace isocenter::pipeline
