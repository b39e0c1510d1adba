// What the tests of the engine share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/synchronization/notification.h"
#include "kernels/recon/reconstructor.h"
#include "server/pipeline/engine.h"
#include "tests/server/fakes/console.h"
#include "tests/server/fakes/service_under_test.h"
#include "tests/server/fakes/test_scan.h"
#include "tests/server/scheduler/manual_clock.h"

namespace isocenter::pipeline {

using isocenter::testing::Console;
using isocenter::testing::Eventually;
using isocenter::testing::PipelineOptions;
using isocenter::testing::PipelineUnderTest;
using isocenter::testing::SmallFrame;
using isocenter::testing::SmallRequest;
using jobs::JobState;

constexpr int kFrames = 40;  // of SmallRequest

class EngineTest : public ::testing::Test {
 protected:
  void Start(PipelineOptions options = {}) {
    service_.reset();
    options.engine.decoders.acquisition =
        [this](const std::string& record) -> absl::StatusOr<AcquisitionRequest> {
      if (!records_.contains(record)) return absl::DataLossError("unknown record");
      return records_[record];
    };
    options.engine.decoders.add_calibration = [this](const std::string& record,
                                                     const jobs::UsedCalibration& used) {
      const std::string with = absl::StrCat(record, " with ", used.name);
      records_[with] = records_[record];
      records_[with].calibration = used;
      return with;
    };
    options.engine.decoders.refinement =
        [this](const std::string& record) -> absl::StatusOr<RefinementRequest> {
      if (!recipes_.contains(record)) return absl::DataLossError("unknown recipe");
      return recipes_[record];
    };
    service_ = std::make_unique<PipelineUnderTest>(std::move(options));
  }
  void SetUp() override { Start(); }

  absl::StatusOr<Engine::Accepted> Accept(AcquisitionRequest request) {
    request.record = absl::StrCat(records_.size());
    records_[request.record] = request;
    absl::StatusOr<Engine::Accepted> result;
    absl::Notification done;
    service_->engine->Accept(
        request, [] { return true; },
        [&](absl::StatusOr<Engine::Accepted> accepted) {
          result = std::move(accepted);
          done.Notify();
        });
    done.WaitForNotification();
    return result;
  }

  /// A job with a console that has sent nothing yet.
  struct Live {
    std::string id;
    std::shared_ptr<Console> console;
  };
  Live Begin(const AcquisitionRequest& request = SmallRequest()) {
    const auto accepted = Accept(request);
    EXPECT_TRUE(accepted.ok()) << accepted.status();
    return {accepted->snapshot->id, *Console::Attach(accepted->job)};
  }
  /// A new stream into a job.
  std::shared_ptr<Console> Resume(const std::string& id) {
    const auto accepted = service_->engine->Resume({.job_id = id});
    EXPECT_TRUE(accepted.ok()) << accepted.status();
    EXPECT_NE(accepted->job, nullptr);
    return *Console::Attach(accepted->job);
  }
  /// The process ends and begins anew.
  void Restart() { service_->Restart(); }

  jobs::Job Job(const std::string& id) { return **service_->table->Get(id); }
  jobs::Job AwaitEnd(const std::string& id) {
    EXPECT_TRUE(Eventually([&] { return jobs::HasEnded(Job(id).state); })) << id;
    return Job(id);
  }
  void AwaitSpooled(const std::string& id, int frames) {
    EXPECT_TRUE(Eventually([&] { return Job(id).progress.frames_received == frames; }))
        << Job(id).progress.frames_received;
  }
  /// Returns when the engine has looked for a place for every job that waits for one.
  void AwaitPlacesSought() {
    absl::Notification sought;
    service_->engine->Accept(
        SmallRequest(), [] { return false; },
        [&](const absl::StatusOr<Engine::Accepted>&) { sought.Notify(); });
    sought.WaitForNotification();
  }
  std::vector<float> VolumeOf(const std::string& id) { return service_->results.volume(id); }
  void ExpectNothingHeld() {
    EXPECT_TRUE(Eventually([&] { return service_->HoldsNothing(); }))
        << service_->scheduler->active_jobs() << " active, " << service_->slot().memory.used()
        << " bytes";
  }

  /// The volume as one call computes it from all frames.
  static std::vector<float> Batch(const AcquisitionRequest& request = SmallRequest()) {
    const auto device =
        *Backends().OpenDevice("reference", {.memory_bytes = 64 << 20, .threads = 1});
    const VolumeGrid grid = std::get<VolumeGrid>(request.grid);
    const auto plan =
        *recon::MakePlan(request.acquisition, grid, request.settings, Backends(), *device);
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
    const auto status =
        recon::ReconstructAll(plan, Backends(), *device, raw, {volume.data(), grid.shape()});
    EXPECT_TRUE(status.ok()) << status.status();
    return volume;
  }

  std::map<std::string, AcquisitionRequest> records_;
  std::map<std::string, RefinementRequest> recipes_;
  scheduler::ManualClock clock_;  // of a service that a test starts with it
  std::unique_ptr<PipelineUnderTest> service_;
};

}  // namespace isocenter::pipeline
